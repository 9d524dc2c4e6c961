package llmtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

// chatFormat is OpenAI's chat completions, as its server and the compatible ones have it
// (https://github.com/openai/openai-openapi, CreateChatCompletionRequest; https://docs.mistral.ai/api;
// https://api-docs.deepseek.com).
type chatFormat struct {
	// seed is the name of the seed; empty without one.
	seed string
	// schemas is true of servers that know response_format json_schema.
	schemas bool
	// streamOptions is true of servers that know stream_options, and tell no usage in streams without.
	streamOptions bool
	// shortIDs is true of Mistral's nine letters.
	shortIDs bool
	// thoughts is the field in which thoughts come and have to come back.
	thoughts string
	// thoughtsBeside counts the tokens of thoughts beside those of the completion.
	thoughtsBeside bool
}

type chatRequest struct {
	Model    string `json:"model"`
	Messages []struct {
		Role             string          `json:"role"`
		Content          json.RawMessage `json:"content"`
		ToolCalls        []chatCall      `json:"tool_calls"`
		ToolCallID       string          `json:"tool_call_id"`
		ReasoningContent json.RawMessage `json:"reasoning_content"`
		ReasoningDetails json.RawMessage `json:"reasoning_details"`
	} `json:"messages"`
	Tools []struct {
		Type     string `json:"type"`
		Function struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
	ToolChoice     json.RawMessage `json:"tool_choice"`
	ResponseFormat *struct {
		Type       string `json:"type"`
		JSONSchema *struct {
			Name   string          `json:"name"`
			Schema json.RawMessage `json:"schema"`
			Strict bool            `json:"strict"`
		} `json:"json_schema"`
	} `json:"response_format"`
	Temperature         *float64 `json:"temperature"`
	TopP                *float64 `json:"top_p"`
	Seed                *int     `json:"seed"`
	RandomSeed          *int     `json:"random_seed"`
	MaxTokens           int      `json:"max_tokens"`
	MaxCompletionTokens int      `json:"max_completion_tokens"`
	ReasoningEffort     string   `json:"reasoning_effort"`
	Stream              bool     `json:"stream"`
	StreamOptions       *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

type chatCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

var shortID = regexp.MustCompile(`^[A-Za-z0-9]{9}$`)

func (f chatFormat) read(s *Server, v vendor, _ string, body []byte) (Request, error) {
	var r chatRequest
	if err := strict(body, &r); err != nil {
		return Request{}, err
	}
	switch {
	case r.Model == "":
		return Request{}, errors.New("you must provide a model parameter")
	case len(r.Messages) == 0:
		return Request{}, errors.New("messages: array too short")
	case r.Seed != nil && f.seed != "seed" || r.RandomSeed != nil && f.seed != "random_seed":
		return Request{}, errors.New("seed: extra inputs are not permitted")
	case r.StreamOptions != nil && (!f.streamOptions || !r.Stream):
		return Request{}, errors.New("stream_options: extra inputs are not permitted")
	case r.ToolChoice != nil && len(r.Tools) == 0:
		return Request{}, errors.New("tool_choice is only allowed when tools are specified")
	}
	asked := Request{
		Model: r.Model, Temperature: r.Temperature, Seed: r.Seed, MaxTokens: max(r.MaxTokens, r.MaxCompletionTokens),
		Stream: r.Stream,
	}
	if r.RandomSeed != nil {
		asked.Seed = r.RandomSeed
	}
	for _, tool := range r.Tools {
		if tool.Type != "function" || tool.Function.Name == "" {
			return Request{}, errors.New("tools: a function needs a name")
		}
		asked.Tools = append(asked.Tools, tool.Function.Name)
	}
	_ = json.Unmarshal(r.ToolChoice, &asked.ToolChoice) // an object names a tool
	if format := r.ResponseFormat; format != nil {
		switch {
		case format.Type == "json_object" && !f.schemas:
			if !strings.Contains(strings.ToLower(string(body)), "json") {
				return Request{}, errors.New("prompt must contain the word json")
			}
			asked.Schema = json.RawMessage("{}")
		case format.Type == "json_schema" && f.schemas && format.JSONSchema != nil:
			asked.Schema = format.JSONSchema.Schema
		default:
			return Request{}, fmt.Errorf("response_format type %s is unavailable", format.Type)
		}
	}
	return asked, f.readMessages(s, r, &asked)
}

// readMessages holds that every call is answered once, directly behind the message that makes it.
func (f chatFormat) readMessages(s *Server, r chatRequest, asked *Request) error {
	open := map[string]string{}
	for i, m := range r.Messages {
		text, images, err := chatText(m.Content)
		if err != nil {
			return fmt.Errorf("messages[%d]: %w", i, err)
		}
		asked.Images += images
		if m.Role == "tool" {
			name, ok := open[m.ToolCallID]
			if !ok {
				return fmt.Errorf("messages[%d]: messages with role 'tool' must be a response to a preceding message "+
					"with 'tool_calls'", i)
			}
			delete(open, m.ToolCallID)
			asked.Results = append(asked.Results, Result{name, text})
			continue
		}
		if len(open) > 0 {
			return fmt.Errorf("messages[%d]: an assistant message with 'tool_calls' must be followed by tool "+
				"messages responding to each 'tool_call_id'", i)
		}
		asked.Results = nil
		switch m.Role {
		case "system":
			asked.System += text
		case "user":
			asked.Texts = append(asked.Texts, text)
		case "assistant":
			if string(m.Content) == "null" && len(m.ToolCalls) == 0 {
				return fmt.Errorf("messages[%d]: expected a string, got null", i)
			}
			asked.Texts = append(asked.Texts, text)
			for _, call := range m.ToolCalls {
				_, twice := open[call.ID]
				if call.ID == "" || twice || call.Type != "function" || len(call.ID) > 40 ||
					f.shortIDs && !shortID.MatchString(call.ID) {
					return fmt.Errorf("messages[%d]: invalid tool call id %q", i, call.ID)
				}
				open[call.ID] = call.Function.Name
			}
			if err := f.readThoughts(s, m.ToolCalls, m.ReasoningContent, m.ReasoningDetails); err != nil {
				return fmt.Errorf("messages[%d]: %w", i, err)
			}
		default:
			return fmt.Errorf("messages[%d]: invalid role %q", i, m.Role)
		}
	}
	if len(open) > 0 {
		return errors.New("the last tool calls have no response")
	}
	return nil
}

func (f chatFormat) readThoughts(s *Server, calls []chatCall, content, details json.RawMessage) error {
	given := map[string]string{"reasoning_content": string(content), "reasoning_details": string(details)}
	for field, value := range given {
		if field != f.thoughts && value != "" {
			return errors.New(field + ": extra inputs are not permitted")
		}
	}
	if len(calls) == 0 {
		return nil
	}
	if want, ok := s.signed[calls[0].ID]; ok && given[f.thoughts] != want {
		return fmt.Errorf("the %s in the thinking mode must be passed back to the API: got %q, want %q", f.thoughts,
			given[f.thoughts], want)
	}
	return nil
}

func chatText(content json.RawMessage) (text string, images int, err error) {
	if string(content) == "null" || json.Unmarshal(content, &text) == nil {
		return text, 0, nil
	}
	var parts []struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		ImageURL *struct {
			URL string `json:"url"`
		} `json:"image_url"`
	}
	if err := strict(content, &parts); err != nil {
		return "", 0, err
	}
	for _, part := range parts {
		switch {
		case part.Type == "text":
			text += part.Text
		case part.Type == "image_url" && part.ImageURL != nil && part.ImageURL.URL != "":
			images++
		default:
			return "", 0, fmt.Errorf("invalid part %q", part.Type)
		}
	}
	return text, images, nil
}

var chatFinish = map[string]string{
	"stop": "stop", "length": "length", "content_filter": "content_filter", "tool_calls": "tool_calls",
}

// message returns the message of an answer.
func (f chatFormat) message(s *Server, a Answer) map[string]any {
	m := map[string]any{"role": "assistant", "content": a.Text}
	if a.Text == "" && len(a.Calls) > 0 {
		m["content"] = nil
	}
	var calls []any
	for i, call := range a.Calls {
		id := s.id("ch")
		calls = append(calls, map[string]any{"id": id, "index": i, "type": "function", "function": map[string]any{
			"name": call.Name, "arguments": string(call.Args),
		}})
	}
	if calls != nil {
		m["tool_calls"] = calls
	}
	if a.Thought != "" && f.thoughts != "" {
		var thought any = a.Thought
		if f.thoughts == "reasoning_details" {
			thought = []any{map[string]any{"type": "reasoning.encrypted", "data": a.Thought}}
		}
		m[f.thoughts] = thought
		if calls != nil {
			data, _ := json.Marshal(thought)
			s.signed[calls[0].(map[string]any)["id"].(string)] = string(data)
		}
	}
	return m
}

func (f chatFormat) usage() map[string]any {
	output, total := OutputTokens, InputTokens+OutputTokens
	if f.thoughtsBeside {
		output -= ThoughtsTokens
	}
	return map[string]any{
		"prompt_tokens": InputTokens, "completion_tokens": output, "total_tokens": total,
		"prompt_tokens_details":     map[string]any{"cached_tokens": CachedTokens},
		"completion_tokens_details": map[string]any{"reasoning_tokens": ThoughtsTokens},
	}
}

func (f chatFormat) write(s *Server, _ vendor, w http.ResponseWriter, asked Request, a Answer) {
	m, finish := f.message(s, a), a.finish(chatFinish)
	if !asked.Stream {
		writeJSON(w, map[string]any{
			"id": "chatcmpl-1", "object": "chat.completion", "model": asked.Model, "usage": f.usage(),
			"choices": []any{map[string]any{"index": 0, "message": m, "finish_reason": finish, "logprobs": nil}},
		})
		return
	}
	out := newStream(w, a)
	send := func(delta map[string]any, finish any) {
		out.send("", map[string]any{
			"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": asked.Model, "usage": nil,
			"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}},
		})
	}
	send(map[string]any{"role": "assistant", "content": ""}, nil)
	if thought, ok := m[f.thoughts]; ok {
		send(map[string]any{f.thoughts: thought}, nil)
	}
	fmt.Fprint(w, ": OPENROUTER PROCESSING\n\n")
	for _, piece := range pieces(a.Text) {
		send(map[string]any{"content": piece}, nil)
	}
	if a.Cut {
		return
	}
	for i, call := range a.Calls {
		id := m["tool_calls"].([]any)[i].(map[string]any)["id"]
		for n, piece := range pieces(string(call.Args)) {
			delta := map[string]any{"index": i, "function": map[string]any{"arguments": piece}}
			if n == 0 {
				delta["id"], delta["type"] = id, "function"
				delta["function"].(map[string]any)["name"] = call.Name
			}
			send(map[string]any{"tool_calls": []any{delta}}, nil)
		}
	}
	if f.streamOptions { // the usage comes in a piece of its own, if it was asked for
		send(map[string]any{}, finish)
		if strings.Contains(string(asked.Raw), `"include_usage":true`) {
			out.send("", map[string]any{"id": "chatcmpl-1", "choices": []any{}, "usage": f.usage()})
		}
	} else {
		out.send("", map[string]any{
			"choices": []any{map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": finish}},
			"usage":   f.usage(),
		})
	}
	out.send("", "[DONE]")
}

func (f chatFormat) refuse(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	body := map[string]any{"error": map[string]any{
		"message": message, "type": "invalid_request_error", "param": nil, "code": nil,
	}}
	if f.shortIDs { // Mistral
		body = map[string]any{"object": "error", "message": message, "type": "invalid_request_error", "code": "1000"}
	}
	_ = json.NewEncoder(w).Encode(body)
}

// args returns arguments as an object.
func args(call chat.ToolCall) any {
	var v map[string]any
	if json.Unmarshal(call.Args, &v) != nil || v == nil {
		return map[string]any{}
	}
	return v
}
