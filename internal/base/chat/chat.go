// Package chat has the types of a conversation: messages, tool calls, replies and their usage. Every other package
// shares them.
package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Role is who speaks in a message.
type Role string

// The roles of a chat.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool"
)

// Message is one utterance.
type Message struct {
	Role    Role    `json:"role"`
	Content Content `json:"content"`
	// ToolCalls are the calls that an assistant asked for in this message.
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`
	// ToolCallID names the call that a tool message answers.
	ToolCallID string `json:"tool_call_id,omitempty"`
	// Native is what the message's model wants back with it.
	Native Native `json:"-"`
}

// Native is a part of a model's message that only its provider reads, such as signed thoughts: with tools it wants that
// back unchanged. It stays inside the program. The zero value is none.
type Native struct {
	// Format says which provider's it is.
	Format string
	Value  json.RawMessage
}

// NewMessage returns a message of plain text.
func NewMessage(role Role, text string) Message {
	return Message{Role: role, Content: Content{Text: text}}
}

// Content is plain text or, when Blocks is set, a list of blocks.
// Its JSON form is a string or an array.
type Content struct {
	Text   string
	Blocks []Block
}

// Block is one part of structured content.
// In a loaded suite, the value of a file is its text, and that of an image a URL, with data: URLs for local files.
type Block struct {
	Type  string `json:"type"` // text, file or image
	Value string `json:"value"`
}

// String returns the readable text: blocks joined by newlines, images by name only.
func (c Content) String() string {
	if c.Blocks == nil {
		return c.Text
	}
	parts := make([]string, 0, len(c.Blocks))
	for _, b := range c.Blocks {
		if b.Type == "image" {
			name, _, _ := strings.Cut(b.Value, ",")
			parts = append(parts, "[image "+name+"]")
			continue
		}
		parts = append(parts, b.Value)
	}
	return strings.Join(parts, "\n")
}

// Empty reports whether the content has nothing but white space.
func (c Content) Empty() bool { return strings.TrimSpace(c.String()) == "" }

// MarshalJSON writes a string, or an array when there are blocks.
func (c Content) MarshalJSON() ([]byte, error) {
	if c.Blocks != nil {
		return json.Marshal(c.Blocks)
	}
	return json.Marshal(c.Text)
}

// UnmarshalJSON reads a string, an array of blocks, or null (no text).
func (c *Content) UnmarshalJSON(data []byte) error {
	*c = Content{}
	switch data = bytes.TrimSpace(data); {
	case len(data) == 0 || string(data) == "null":
		return nil
	case data[0] == '[':
		c.Blocks = []Block{}
		return json.Unmarshal(data, &c.Blocks)
	case data[0] == '"':
		return json.Unmarshal(data, &c.Text)
	}
	return fmt.Errorf("message content must be a string or a list of blocks, got %.20s", data)
}

// ToolCall is one use of a tool.
type ToolCall struct {
	ID   string `json:"id,omitempty"`
	Name string `json:"name"`
	// Args is a JSON object as the model wrote it; it may be invalid JSON.
	Args json.RawMessage `json:"args,omitempty"`
	// Result is what the tool answered, if the agent reports it.
	Result    json.RawMessage `json:"result,omitempty"`
	LatencyMS float64         `json:"latency_ms,omitempty"`
	// Source is mcp for a call that a stand-in server took; empty for a call that the agent reports.
	Source string `json:"source,omitempty"`
}

// Reply is the answer of an agent or a model to one message, with its tool calls, usage, cost and timing.
type Reply struct {
	Text      string     `json:"text"`
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`
	// Node is where a flow stands after the reply; State is the agent's own state, if it shows any.
	Node    string          `json:"node,omitempty"`
	State   json.RawMessage `json:"state,omitempty"`
	TraceID string          `json:"trace_id,omitempty"`
	// FinishReason is why a model stopped: stop, length, tool_calls, content_filter or other; empty when it did not
	// say. Of another agent it is the agent's own word.
	FinishReason string `json:"finish_reason,omitempty"`
	// Usage and Cost are 0 for a reply that no model was asked for.
	Usage Usage `json:"usage"`
	Cost  Cost  `json:"cost_usd"`
	// Latency is the time of the successful attempt. Untimed is true of a reply that was recorded without one.
	Latency time.Duration `json:"latency_ns"`
	Untimed bool          `json:"untimed,omitempty"`
	// FirstText is the time from the request to the first text of a streamed answer; 0 for an answer that came whole.
	FirstText time.Duration `json:"first_text_ns,omitempty"`
	// Requests counts the requests to a model that is asked again with the results of its tools; 0 for other agents.
	Requests int `json:"requests,omitempty"`
	// Ended is true when the agent ended the conversation with this reply.
	Ended bool `json:"ended,omitempty"`
	// Attempts counts attempts from 1, summed over the model calls of an agent's turn; 0 means unknown.
	Attempts int `json:"attempts,omitempty"`
	// Thread is the id by which a provider keeps the conversation; empty where it keeps none.
	Thread string `json:"thread,omitempty"`
	// Native is Message's.
	Native Native `json:"-"`
	// Model is the model that answered, as the provider calls it; empty where it does not say.
	Model string `json:"-"`
}

// Message returns the reply as an assistant's message, with its tool calls but without their results.
func (r Reply) Message() Message {
	m := Message{Role: Assistant, Content: Content{Text: r.Text}, Native: r.Native}
	for _, call := range r.ToolCalls {
		m.ToolCalls = append(m.ToolCalls, ToolCall{ID: call.ID, Name: call.Name, Args: call.Args})
	}
	return m
}

// Format writes a conversation as readable text: each message after its role, with a blank line between two messages.
func Format(messages []Message) string {
	var b strings.Builder
	for i, m := range messages {
		if i > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(string(m.Role) + ": " + m.Content.String())
		for _, call := range m.ToolCalls {
			fmt.Fprintf(&b, "\n[calls %s %s", call.Name, call.Args)
			if len(call.Result) > 0 {
				fmt.Fprintf(&b, ", which returns %s", call.Result)
			}
			b.WriteString("]")
		}
	}
	return b.String()
}
