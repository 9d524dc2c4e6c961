package llmtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// responsesFormat is OpenAI's responses (https://github.com/openai/openai-openapi, CreateResponse).
type responsesFormat struct{}

type responsesRequest struct {
	Model string            `json:"model"`
	Input []json.RawMessage `json:"input"`
	Tools []struct {
		Type        string          `json:"type"`
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
		Strict      *bool           `json:"strict"`
	} `json:"tools"`
	ToolChoice json.RawMessage `json:"tool_choice"`
	Text       *struct {
		Format struct {
			Type   string          `json:"type"`
			Name   string          `json:"name"`
			Schema json.RawMessage `json:"schema"`
			Strict bool            `json:"strict"`
		} `json:"format"`
	} `json:"text"`
	Temperature     *float64 `json:"temperature"`
	TopP            *float64 `json:"top_p"`
	MaxOutputTokens int      `json:"max_output_tokens"`
	Stream          bool     `json:"stream"`
	Previous        string   `json:"previous_response_id"`
	Conversation    string   `json:"conversation"`
}

func (responsesFormat) read(s *Server, _ vendor, _ string, body []byte) (Request, error) {
	var r responsesRequest
	if err := strict(body, &r); err != nil {
		return Request{}, err
	}
	known := r.Previous
	if r.Conversation != "" {
		known = r.Conversation
	}
	switch {
	case r.Model == "" || len(r.Input) == 0:
		return Request{}, errors.New("model and input are required")
	case r.Previous != "" && r.Conversation != "":
		return Request{}, errors.New("previous_response_id cannot be used in conjunction with conversation")
	case known != "" && !s.responses[known]:
		return Request{}, fmt.Errorf("previous response with id %q not found", known)
	}
	asked := Request{Model: r.Model, Temperature: r.Temperature, MaxTokens: r.MaxOutputTokens, Stream: r.Stream}
	for _, tool := range r.Tools {
		if tool.Type != "function" || tool.Name == "" || tool.Strict == nil {
			return Request{}, errors.New("tools: a function needs a name, and says whether it is strict")
		}
		asked.Tools = append(asked.Tools, tool.Name)
	}
	_ = json.Unmarshal(r.ToolChoice, &asked.ToolChoice) // an object names a tool
	if r.Text != nil {
		asked.Schema = r.Text.Format.Schema
	}
	open, results := map[string]string{}, 0
	for i, raw := range r.Input {
		var item struct {
			Type      string          `json:"type"`
			Role      string          `json:"role"`
			Content   json.RawMessage `json:"content"`
			CallID    string          `json:"call_id"`
			Name      string          `json:"name"`
			Arguments string          `json:"arguments"`
			Output    string          `json:"output"`
		}
		if err := strict(raw, &item); err != nil {
			return Request{}, fmt.Errorf("input[%d]: %w", i, err)
		}
		switch {
		case item.Type == "function_call":
			if _, twice := open[item.CallID]; item.CallID == "" || len(item.CallID) > 64 || twice {
				return Request{}, fmt.Errorf("input[%d]: invalid call_id %q", i, item.CallID)
			}
			open[item.CallID] = item.Name
			asked.Results = nil
		case item.Type == "function_call_output":
			name, ok := open[item.CallID]
			if s.signed[item.CallID] != "" && known != "" { // made by an earlier response
				name, ok = s.signed[item.CallID], true
			}
			if !ok {
				return Request{}, fmt.Errorf("no tool call found for function call output with call_id %s", item.CallID)
			}
			delete(open, item.CallID)
			asked.Results = append(asked.Results, Result{name, item.Output})
			results++
		case item.Role == "system" || item.Role == "user" || item.Role == "assistant":
			text, images, err := responsesText(item.Role, item.Content)
			if err != nil {
				return Request{}, fmt.Errorf("input[%d]: %w", i, err)
			}
			asked.Images += images
			if item.Role == "system" {
				asked.System += text
				continue
			}
			asked.Texts, asked.Results = append(asked.Texts, text), nil
		default:
			return Request{}, fmt.Errorf("input[%d]: invalid item", i)
		}
	}
	for id := range open {
		return Request{}, fmt.Errorf("no tool output found for function call %s", id)
	}
	return asked, nil
}

func responsesText(role string, content json.RawMessage) (text string, images int, err error) {
	if json.Unmarshal(content, &text) == nil {
		return text, 0, nil
	}
	var parts []struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		ImageURL string `json:"image_url"`
	}
	if err := strict(content, &parts); err != nil {
		return "", 0, err
	}
	for _, part := range parts {
		switch {
		case part.Type == "input_text" && role != "assistant", part.Type == "output_text" && role == "assistant":
			text += part.Text
		case part.Type == "input_image" && role != "assistant" && part.ImageURL != "":
			images++
		default:
			return "", 0, fmt.Errorf("invalid value %q", part.Type)
		}
	}
	return text, images, nil
}

func (responsesFormat) write(s *Server, _ vendor, w http.ResponseWriter, asked Request, a Answer) {
	id := s.id("resp_")
	s.responses[id] = true
	output := []any{map[string]any{"type": "reasoning", "id": "rs_1", "summary": []any{}}}
	if a.Text != "" || len(a.Calls) == 0 {
		output = append(output, map[string]any{
			"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
			"content": []any{map[string]any{"type": "output_text", "text": a.Text, "annotations": []any{}}},
		})
	}
	for _, call := range a.Calls {
		callID := s.id("call_")
		s.signed[callID] = call.Name
		output = append(output, map[string]any{
			"type": "function_call", "id": s.id("fc_"), "call_id": callID, "name": call.Name,
			"arguments": string(call.Args),
		})
	}
	whole := map[string]any{
		"id": id, "object": "response", "model": asked.Model, "status": "completed", "error": nil,
		"incomplete_details": nil, "output": output,
		"usage": map[string]any{
			"input_tokens": InputTokens, "input_tokens_details": map[string]any{"cached_tokens": CachedTokens},
			"output_tokens": OutputTokens, "output_tokens_details": map[string]any{"reasoning_tokens": ThoughtsTokens},
			"total_tokens": InputTokens + OutputTokens,
		},
	}
	last := "response.completed"
	if reason := map[string]string{
		"length": "max_output_tokens", "content_filter": "content_filter",
	}[a.Finish]; reason != "" {
		whole["status"], whole["incomplete_details"], last = "incomplete", map[string]any{"reason": reason},
			"response.incomplete"
	}
	if !asked.Stream {
		writeJSON(w, whole)
		return
	}
	out := newStream(w, a)
	out.send("response.created", map[string]any{
		"type": "response.created", "response": map[string]any{"id": id, "status": "in_progress", "output": []any{}},
	})
	for _, piece := range pieces(a.Text) {
		out.send("response.output_text.delta", map[string]any{
			"type": "response.output_text.delta", "output_index": 1, "content_index": 0, "delta": piece,
		})
	}
	for i, call := range a.Calls {
		for _, piece := range pieces(string(call.Args)) {
			out.send("", map[string]any{
				"type": "response.function_call_arguments.delta", "output_index": 2 + i, "delta": piece,
			})
		}
	}
	if !a.Cut {
		out.send(last, map[string]any{"type": last, "response": whole})
	}
}

func (responsesFormat) refuse(w http.ResponseWriter, status int, message string) {
	chatFormat{}.refuse(w, status, message)
}
