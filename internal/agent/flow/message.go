package flow

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
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

	// number is the turn by which the engine knows the message; see numbered.
	number int
	raw    json.RawMessage
}

// Debug says in which execution a message was made, and how.
type Debug struct {
	TraceID        string `json:"trace_id,omitempty"`
	ConversationID string `json:"conversation_id,omitempty"`
	TestCaseID     string `json:"test_case_id,omitempty"`
	// Stayed is true of an answer that left the conversation at its node.
	Stayed bool `json:"stayed,omitempty"`
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

// Fault says why a turn could not be taken. The context's state is unchanged.
type Fault string

// The faults.
const (
	Invalid  Fault = "invalid_context"        // the context does not follow the schema, or its flow is broken
	NotFound Fault = "not_found"              // an unknown flow or node
	Over     Fault = "flow_already_completed" // the current node is a stop
	Model    Fault = "model_error"            // the model failed
	TimedOut Fault = "timeout"                // the model did not answer in time
	TooLong  Fault = "turn_timeout"           // the turn exceeded its time limit
)

// Error is a turn that could not be taken, in one sentence.
type Error struct {
	Fault Fault
	// Pointer is the JSON pointer into the context, where that helps.
	Pointer string
	Message string
	Hint    string
	Err     error
	// Usage is what the turn took of models before it failed.
	Usage Usage
}

// Error returns "message (hint)".
func (e *Error) Error() string {
	s := e.Message
	if e.Pointer != "" {
		s = e.Pointer + ": " + s
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func notFound(pointer, hint, format string, args ...any) *Error {
	return &Error{Fault: NotFound, Pointer: pointer, Message: fmt.Sprintf(format, args...), Hint: hint}
}
