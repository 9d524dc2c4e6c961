package llmtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// anthropicFormat is the Messages API (https://github.com/anthropics/anthropic-sdk-go, MessageNewParams;
// https://platform.claude.com/docs).
type anthropicFormat struct{}

type anthropicRequest struct {
	Model     string          `json:"model"`
	MaxTokens int             `json:"max_tokens"`
	System    json.RawMessage `json:"system"`
	Messages  []struct {
		Role    string            `json:"role"`
		Content []json.RawMessage `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		InputSchema struct {
			Type string `json:"type"`
		} `json:"-"`
		RawSchema json.RawMessage `json:"input_schema"`
	} `json:"tools"`
	ToolChoice *struct {
		Type string `json:"type"`
		Name string `json:"name"`
	} `json:"tool_choice"`
	Temperature *float64       `json:"temperature"`
	TopP        *float64       `json:"top_p"`
	TopK        *int           `json:"top_k"`
	Stream      bool           `json:"stream"`
	Metadata    map[string]any `json:"metadata"`
	Thinking    map[string]any `json:"thinking"`
}

type anthropicBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   string          `json:"content"`
	IsError   bool            `json:"is_error"`
	Source    *struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
		URL       string `json:"url"`
	} `json:"source"`
	Thinking  string `json:"thinking"`
	Signature string `json:"signature"`
}

var (
	anthropicID   = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
	anthropicTool = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)
)

func (anthropicFormat) read(s *Server, _ vendor, _ string, body []byte) (Request, error) {
	var r anthropicRequest
	if err := strict(body, &r); err != nil {
		return Request{}, fmt.Errorf("%w: Extra inputs are not permitted", err)
	}
	switch {
	case r.MaxTokens < 1:
		return Request{}, errors.New("max_tokens: Field required")
	case len(r.Messages) == 0:
		return Request{}, errors.New("messages: at least one message is required")
	case r.Messages[0].Role != "user":
		return Request{}, errors.New("messages: first message must use the \"user\" role")
	case r.ToolChoice != nil && len(r.Tools) == 0:
		return Request{}, errors.New("tool_choice may only be specified while providing tools")
	case r.Temperature != nil && (*r.Temperature < 0 || *r.Temperature > 1):
		return Request{}, errors.New("temperature: range: 0..1")
	}
	asked := Request{Model: r.Model, Temperature: r.Temperature, MaxTokens: r.MaxTokens, Stream: r.Stream}
	if len(r.System) > 0 {
		if err := json.Unmarshal(r.System, &asked.System); err != nil || strings.TrimSpace(asked.System) == "" {
			return Request{}, errors.New("system: text content blocks must contain non-whitespace text")
		}
	}
	for i, tool := range r.Tools {
		var schema struct{ Type string }
		if json.Unmarshal(tool.RawSchema, &schema) != nil || schema.Type != "object" {
			return Request{}, fmt.Errorf("tools.%d.input_schema.type: Field required", i)
		}
		if !anthropicTool.MatchString(tool.Name) {
			return Request{}, fmt.Errorf("tools.%d.name: String should match pattern", i)
		}
		if tool.Description == "Gives the reply." { // the forced tool of a reply of a schema
			asked.Schema = tool.RawSchema
			continue
		}
		asked.Tools = append(asked.Tools, tool.Name)
	}
	if c := r.ToolChoice; c != nil {
		asked.ToolChoice = c.Type
		if c.Type == "tool" && asked.Schema == nil {
			asked.ToolChoice = c.Name
		}
	}
	return asked, readTurns(s, r, &asked)
}

// readTurns holds that roles alternate, and that the calls of a message are answered at the head of the next.
func readTurns(s *Server, r anthropicRequest, asked *Request) error {
	open, used := map[string]string{}, map[string]bool{}
	for i, m := range r.Messages {
		fail := func(format string, args ...any) error {
			return fmt.Errorf("messages.%d: %s", i, fmt.Sprintf(format, args...))
		}
		if want := []string{"user", "assistant"}[i%2]; m.Role != want {
			return fail("roles must alternate between \"user\" and \"assistant\"")
		}
		if len(m.Content) == 0 {
			return fail("all messages must have non-empty content")
		}
		asked.Results = nil
		text, head := "", true
		var blocks []anthropicBlock
		for j, raw := range m.Content {
			var b anthropicBlock
			if err := strict(raw, &b); err != nil {
				return fail("content.%d: %v: Extra inputs are not permitted", j, err)
			}
			blocks = append(blocks, b)
			if b.Type != "tool_result" {
				head = false
			}
			switch {
			case b.Type == "text" && strings.TrimSpace(b.Text) == "":
				return fail("content.%d: text content blocks must contain non-whitespace text", j)
			case b.Type == "text":
				text += b.Text
			case b.Type == "image" && m.Role == "user" && b.Source != nil && (b.Source.Type == "url" &&
				b.Source.URL != "" || b.Source.Type == "base64" && b.Source.MediaType != "" && b.Source.Data != ""):
				asked.Images++
			case b.Type == "tool_result" && m.Role == "user":
				name, ok := open[b.ToolUseID]
				if !ok {
					return fail("content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s", j,
						b.ToolUseID)
				}
				if !head {
					return fail("content.%d: tool_result blocks must come first", j)
				}
				delete(open, b.ToolUseID)
				asked.Results = append(asked.Results, Result{name, b.Content})
			case b.Type == "tool_use" && m.Role == "assistant":
				var input map[string]any
				if !anthropicID.MatchString(b.ID) || used[b.ID] || json.Unmarshal(b.Input, &input) != nil ||
					input == nil {
					return fail("content.%d: `tool_use` ids must be unique, and input a dictionary: %s %s", j,
						b.ID, b.Input)
				}
				open[b.ID], used[b.ID] = b.Name, true
			case b.Type == "thinking" && m.Role == "assistant":
			default:
				return fail("content.%d: invalid block %q", j, b.Type)
			}
		}
		if m.Role == "user" && len(open) > 0 {
			return fail("`tool_use` ids were found without `tool_result` blocks immediately after: %v", open)
		}
		for _, b := range blocks {
			if want, ok := s.signed[b.ID]; b.Type == "tool_use" && ok &&
				(blocks[0].Type != "thinking" || blocks[0].Signature != want) {
				return fail(
					"expected `thinking`, but found %q: a final assistant message must start with a thinking block",
					blocks[0].Type)
			}
		}
		if m.Role == "assistant" && i == len(r.Messages)-1 && strings.TrimSpace(text) != text {
			return fail("final assistant content cannot end with trailing whitespace")
		}
		asked.Texts = append(asked.Texts, text)
	}
	if len(open) > 0 {
		return errors.New("messages: `tool_use` ids were found without `tool_result` blocks immediately after")
	}
	return nil
}

var anthropicFinish = map[string]string{
	"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal", "tool_calls": "tool_use",
}

func (anthropicFormat) content(s *Server, asked Request, a Answer) []map[string]any {
	var content []map[string]any
	if a.Thought != "" {
		content = append(content, map[string]any{
			"type": "thinking", "thinking": a.Thought, "signature": "sig:" + a.Thought,
		})
	}
	switch {
	case asked.Schema != nil && len(a.Calls) == 0:
		content = append(content, map[string]any{
			"type": "tool_use", "id": s.id("toolu_"), "name": schemaTool(asked), "input": json.RawMessage(a.Text),
		})
	case a.Text != "":
		content = append(content, map[string]any{"type": "text", "text": a.Text})
	}
	for i, call := range a.Calls {
		id := s.id("toolu_")
		if i == 0 && a.Thought != "" {
			s.signed[id] = "sig:" + a.Thought
		}
		content = append(content, map[string]any{"type": "tool_use", "id": id, "name": call.Name, "input": args(call)})
	}
	return content
}

// schemaTool returns the name of the forced tool.
func schemaTool(asked Request) string {
	var r anthropicRequest
	_ = json.Unmarshal(asked.Raw, &r) // it was read before
	return r.Tools[len(r.Tools)-1].Name
}

func (f anthropicFormat) write(s *Server, _ vendor, w http.ResponseWriter, asked Request, a Answer) {
	content, finish := f.content(s, asked, a), a.finish(anthropicFinish)
	if asked.Schema != nil && finish == "end_turn" {
		finish = "tool_use"
	}
	usage := map[string]any{
		"input_tokens": InputTokens - CachedTokens - 10, "cache_creation_input_tokens": 10,
		"cache_read_input_tokens": CachedTokens, "output_tokens": OutputTokens,
		"output_tokens_details": map[string]any{"thinking_tokens": ThoughtsTokens},
	}
	message := map[string]any{
		"id": "msg_1", "type": "message", "role": "assistant", "model": asked.Model, "stop_sequence": nil,
	}
	if !asked.Stream {
		message["content"], message["stop_reason"], message["usage"] = content, finish, usage
		if content == nil {
			message["content"] = []any{}
		}
		writeJSON(w, message)
		return
	}
	out := newStream(w, a)
	send := func(event map[string]any) { out.send(event["type"].(string), event) }
	message["content"], message["stop_reason"] = []any{}, nil
	message["usage"] = map[string]any{
		"input_tokens": InputTokens - CachedTokens - 10, "cache_creation_input_tokens": 10,
		"cache_read_input_tokens": CachedTokens, "output_tokens": 1,
	}
	send(map[string]any{"type": "message_start", "message": message})
	send(map[string]any{"type": "ping"})
	for i, block := range content {
		f.streamBlock(send, i, block)
		if a.Cut {
			return
		}
	}
	send(map[string]any{
		"type": "message_delta", "delta": map[string]any{"stop_reason": finish, "stop_sequence": nil},
		"usage": map[string]any{
			"output_tokens": OutputTokens, "output_tokens_details": map[string]any{"thinking_tokens": ThoughtsTokens},
		},
	})
	send(map[string]any{"type": "message_stop"})
}

func (anthropicFormat) streamBlock(send func(map[string]any), i int, block map[string]any) {
	delta := func(kind, field, text string) {
		send(map[string]any{
			"type": "content_block_delta", "index": i, "delta": map[string]any{"type": kind, field: text},
		})
	}
	start := func(fields map[string]any) {
		send(map[string]any{"type": "content_block_start", "index": i, "content_block": fields})
	}
	switch block["type"] {
	case "thinking":
		start(map[string]any{"type": "thinking", "thinking": "", "signature": ""})
		for _, piece := range pieces(block["thinking"].(string)) {
			delta("thinking_delta", "thinking", piece)
		}
		delta("signature_delta", "signature", block["signature"].(string))
	case "text":
		start(map[string]any{"type": "text", "text": ""})
		for _, piece := range pieces(block["text"].(string)) {
			delta("text_delta", "text", piece)
		}
	default:
		start(map[string]any{"type": "tool_use", "id": block["id"], "name": block["name"], "input": map[string]any{}})
		input, _ := json.Marshal(block["input"]) // it is plain
		for _, piece := range pieces(string(input)) {
			delta("input_json_delta", "partial_json", piece)
		}
	}
	send(map[string]any{"type": "content_block_stop", "index": i})
}

func (anthropicFormat) refuse(w http.ResponseWriter, status int, message string) {
	kind := map[int]string{
		401: "authentication_error", 429: "rate_limit_error", 529: "overloaded_error", 500: "api_error",
	}[status]
	if kind == "" {
		kind = "invalid_request_error"
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{
		"type": "error", "error": map[string]any{"type": kind, "message": message}, "request_id": "req_1",
	})
}
