package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"rehearse/internal/chat"
	"rehearse/internal/llm"
)

// chatRequest is the body of POST /v1/chat/completions as far as a model may care. The rest is ignored, as OpenAI does.
type chatRequest struct {
	Model         string        `json:"model"`
	Messages      []chatMessage `json:"messages"`
	Stream        bool          `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Tools []struct {
		Function llm.Tool `json:"function"`
	} `json:"tools"`
	ToolChoice toolChoice `json:"tool_choice"`
	Format     struct {
		Schema *struct {
			Name   string          `json:"name"`
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	} `json:"response_format"`
	Temperature   *float64 `json:"temperature"`
	TopP          *float64 `json:"top_p"`
	Seed          *int     `json:"seed"`
	MaxTokens     int      `json:"max_tokens"`
	MaxCompletion int      `json:"max_completion_tokens"`
}

type chatMessage struct {
	Role       chat.Role  `json:"role"`
	Content    content    `json:"content"`
	ToolCalls  []toolCall `json:"tool_calls"`
	ToolCallID string     `json:"tool_call_id"`
}

type toolCall struct {
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

func decodeRequest(body []byte) (*chatRequest, error) {
	var r chatRequest
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, fmt.Errorf("the body is not a chat completion request: %w", err)
	}
	if len(r.Messages) == 0 {
		return nil, errors.New("the request has no messages")
	}
	return &r, nil
}

func (r *chatRequest) request() llm.Request {
	q := llm.Request{
		Messages: make([]chat.Message, len(r.Messages)), ToolChoice: string(r.ToolChoice),
		Temperature: r.Temperature, TopP: r.TopP, Seed: r.Seed, MaxTokens: max(r.MaxTokens, r.MaxCompletion),
	}
	for i, m := range r.Messages {
		message := chat.Message{Role: m.Role, Content: chat.Content(m.Content), ToolCallID: m.ToolCallID}
		if m.Role == "developer" { // what newer models call the system
			message.Role = chat.System
		}
		for _, c := range m.ToolCalls {
			message.ToolCalls = append(message.ToolCalls, chat.ToolCall{ID: c.ID, Name: c.Function.Name, Args: llm.ParseArgs(c.Function.Arguments)})
		}
		q.Messages[i] = message
	}
	for _, t := range r.Tools {
		q.Tools = append(q.Tools, t.Function)
	}
	if s := r.Format.Schema; s != nil {
		q.Schema = &llm.Schema{Name: s.Name, JSON: s.Schema}
	}
	return q
}

// content is a string, null, or a list of typed parts.
type content chat.Content

func (c *content) UnmarshalJSON(data []byte) error {
	switch data = bytes.TrimSpace(data); data[0] {
	case 'n':
		return nil
	case '"':
		return json.Unmarshal(data, &c.Text)
	}
	var parts []struct {
		Type  string   `json:"type"`
		Text  string   `json:"text"`
		Image imageURL `json:"image_url"`
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return fmt.Errorf("content is neither text nor a list of parts: %w", err)
	}
	c.Blocks = make([]chat.Block, len(parts))
	for i, p := range parts {
		switch p.Type {
		case "text", "input_text", "output_text":
			c.Blocks[i] = chat.Block{Type: "text", Value: p.Text}
		case "image_url", "input_image":
			c.Blocks[i] = chat.Block{Type: "image", Value: string(p.Image)}
		default:
			return fmt.Errorf("unknown content part %q", p.Type)
		}
	}
	return nil
}

// imageURL is {"url": …} or the URL itself.
type imageURL string

func (u *imageURL) UnmarshalJSON(data []byte) error {
	var object struct {
		URL string `json:"url"`
	}
	if json.Unmarshal(data, (*string)(u)) == nil {
		return nil
	}
	err := json.Unmarshal(data, &object)
	*u = imageURL(object.URL)
	return err
}

// toolChoice is a word, or {"function": {"name": …}} for a certain tool.
type toolChoice string

func (t *toolChoice) UnmarshalJSON(data []byte) error {
	var object struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if json.Unmarshal(data, (*string)(t)) == nil {
		return nil
	}
	err := json.Unmarshal(data, &object)
	*t = toolChoice(object.Function.Name)
	return err
}
