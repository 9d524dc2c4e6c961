package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// chatRequest has the fields of POST /v1/chat/completions that concern a model. The rest is ignored.
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
	// ToolChoice is a word, or {"function": {"name": …}} for a particular tool.
	ToolChoice any `json:"tool_choice"`
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
	Role chat.Role `json:"role"`
	// Content is a string, null, or a list of typed parts. The type any decodes in one pass; a type of its own would
	// not.
	Content    any        `json:"content"`
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

// decodeRequest returns the request, and the part of it that concerns the model.
func decodeRequest(body []byte) (*chatRequest, llm.Request, error) {
	var r chatRequest
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, llm.Request{}, fmt.Errorf("the body is not a chat completion request: %w", err)
	}
	if len(r.Messages) == 0 {
		return nil, llm.Request{}, errors.New("the request has no messages")
	}
	q, err := r.request()
	return &r, q, err
}

func (r *chatRequest) request() (llm.Request, error) {
	q := llm.Request{
		Messages: make([]chat.Message, len(r.Messages)), ToolChoice: wordOrName(r.ToolChoice, "function", "name"),
		Temperature: r.Temperature, TopP: r.TopP, Seed: r.Seed, MaxTokens: max(r.MaxTokens, r.MaxCompletion),
	}
	for i, m := range r.Messages {
		content, err := contentOf(m.Content)
		if err != nil {
			return q, fmt.Errorf("messages[%d]: %w", i, err)
		}
		message := chat.Message{Role: m.Role, Content: content, ToolCallID: m.ToolCallID}
		if m.Role == "developer" { // the system role of newer models
			message.Role = chat.System
		}
		for _, c := range m.ToolCalls {
			message.ToolCalls = append(message.ToolCalls, chat.ToolCall{
				ID: c.ID, Name: c.Function.Name, Args: llm.ParseArgs(c.Function.Arguments),
			})
		}
		q.Messages[i] = message
	}
	for _, t := range r.Tools {
		q.Tools = append(q.Tools, t.Function)
	}
	if s := r.Format.Schema; s != nil {
		q.Schema = &llm.Schema{Name: s.Name, JSON: s.Schema}
	}
	return q, nil
}

func contentOf(v any) (chat.Content, error) {
	bad := errors.New("content is neither text nor a list of parts with text or image_url")
	switch v := v.(type) {
	case nil:
		return chat.Content{}, nil
	case string:
		return chat.Content{Text: v}, nil
	case []any:
		blocks := make([]chat.Block, len(v))
		for i, item := range v {
			part, _ := item.(map[string]any)
			switch part["type"] {
			case "text", "input_text", "output_text":
				blocks[i] = chat.Block{Type: "text", Value: wordOrName(part["text"])}
			case "image_url", "input_image":
				blocks[i] = chat.Block{Type: "image", Value: wordOrName(part["image_url"], "url")}
			default:
				return chat.Content{}, bad
			}
		}
		return chat.Content{Blocks: blocks}, nil
	}
	return chat.Content{}, bad
}

// wordOrName returns a text, or the text at a path within objects; "" when there is neither.
func wordOrName(v any, path ...string) string {
	if text, ok := v.(string); ok {
		return text
	}
	for _, name := range path {
		object, _ := v.(map[string]any)
		v = object[name]
	}
	text, _ := v.(string)
	return text
}

// nodeOf returns the part of an agent that asks, as this program's clients send it.
func nodeOf(r *http.Request) string {
	node, err := url.PathUnescape(r.Header.Get(llm.NodeHeader))
	if err != nil {
		return r.Header.Get(llm.NodeHeader)
	}
	return node
}
