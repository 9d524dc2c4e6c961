package flow

import (
	"bytes"
	"encoding/json"

	"rehearse/internal/chat"
)

// Message is one verbatim utterance of the history.
// A message read from JSON is written back unchanged, including fields unknown to the engine.
type Message struct {
	Role    chat.Role `json:"role"`
	Content string    `json:"content"`
	// NodeID is the node that shaped an assistant's message.
	NodeID string `json:"node_id,omitempty"`
	// Turn counts from 1; 0 means unknown.
	Turn  int    `json:"turn,omitempty"`
	Debug *Debug `json:"debug,omitempty"`

	raw json.RawMessage
}

// Debug names the execution in which a message was made.
type Debug struct {
	TraceID        string `json:"trace_id,omitempty"`
	ConversationID string `json:"conversation_id,omitempty"`
	TestCaseID     string `json:"test_case_id,omitempty"`
}

type plainMessage Message

// MarshalJSON writes the message, or the JSON that it was read from.
func (m Message) MarshalJSON() ([]byte, error) {
	if m.raw != nil {
		return m.raw, nil
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(plainMessage(m))
	return b.Bytes(), err
}

// UnmarshalJSON reads a message and keeps its JSON.
func (m *Message) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, (*plainMessage)(m)); err != nil {
		return err
	}
	m.raw = json.RawMessage(bytes.Clone(data))
	return nil
}
