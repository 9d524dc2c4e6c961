package llmtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// googleFormat is the Gemini API (https://github.com/googleapis/python-genai, types for the Gemini Developer API;
// https://ai.google.dev/api).
type googleFormat struct{}

type googleContent struct {
	Role  string            `json:"role"`
	Parts []json.RawMessage `json:"parts"`
}

type googleRequest struct {
	System   *googleContent  `json:"systemInstruction"`
	Contents []googleContent `json:"contents"`
	Tools    []struct {
		FunctionDeclarations []struct {
			Name                 string          `json:"name"`
			Description          string          `json:"description"`
			ParametersJSONSchema json.RawMessage `json:"parametersJsonSchema"`
		} `json:"functionDeclarations"`
	} `json:"tools"`
	ToolConfig *struct {
		FunctionCallingConfig struct {
			Mode                 string   `json:"mode"`
			AllowedFunctionNames []string `json:"allowedFunctionNames"`
		} `json:"functionCallingConfig"`
	} `json:"toolConfig"`
	GenerationConfig struct {
		Temperature        *float64        `json:"temperature"`
		TopP               *float64        `json:"topP"`
		MaxOutputTokens    int             `json:"maxOutputTokens"`
		Seed               *int            `json:"seed"`
		ResponseMIMEType   string          `json:"responseMimeType"`
		ResponseJSONSchema json.RawMessage `json:"responseJsonSchema"`
		ThinkingConfig     map[string]any  `json:"thinkingConfig"`
	} `json:"generationConfig"`
}

type googlePart struct {
	Text       *string `json:"text"`
	InlineData *struct {
		MIMEType string `json:"mimeType"`
		Data     string `json:"data"`
	} `json:"inlineData"`
	FileData *struct {
		MIMEType string `json:"mimeType"`
		FileURI  string `json:"fileUri"`
	} `json:"fileData"`
	FunctionCall *struct {
		ID   string         `json:"id"`
		Name string         `json:"name"`
		Args map[string]any `json:"args"`
	} `json:"functionCall"`
	FunctionResponse *struct {
		ID       string         `json:"id"`
		Name     string         `json:"name"`
		Response map[string]any `json:"response"`
	} `json:"functionResponse"`
	Thought          bool   `json:"thought"`
	ThoughtSignature string `json:"thoughtSignature"`
}

func (googleFormat) read(s *Server, _ vendor, path string, body []byte) (Request, error) {
	model, method, _ := strings.Cut(path, ":")
	if method != "generateContent?" && method != "streamGenerateContent?alt=sse" {
		return Request{}, fmt.Errorf("unknown method %q", method)
	}
	var r googleRequest
	if err := strict(body, &r); err != nil {
		return Request{}, fmt.Errorf("invalid JSON payload received: %w", err)
	}
	c := r.GenerationConfig
	asked := Request{
		Model: model, Stream: strings.HasPrefix(method, "stream"), Temperature: c.Temperature, Seed: c.Seed,
		MaxTokens: c.MaxOutputTokens, Schema: c.ResponseJSONSchema,
	}
	if (c.ResponseMIMEType == "application/json") != (c.ResponseJSONSchema != nil) {
		return Request{}, errors.New("responseJsonSchema needs responseMimeType application/json")
	}
	if r.System != nil {
		for _, raw := range r.System.Parts {
			var part googlePart
			if err := strict(raw, &part); err != nil || part.Text == nil {
				return Request{}, errors.New("systemInstruction: must contain text")
			}
			asked.System += *part.Text
		}
	}
	for _, tool := range r.Tools {
		for _, f := range tool.FunctionDeclarations {
			asked.Tools = append(asked.Tools, f.Name)
		}
	}
	if r.ToolConfig != nil {
		calling := r.ToolConfig.FunctionCallingConfig
		asked.ToolChoice = strings.Join(append([]string{calling.Mode}, calling.AllowedFunctionNames...), " ")
	}
	return asked, readContents(s, r, &asked)
}

// readContents holds that roles alternate, and that the calls of a content are answered in the next.
func readContents(s *Server, r googleRequest, asked *Request) error {
	if len(r.Contents) == 0 {
		return errors.New("GenerateContentRequest.contents: contents is not specified")
	}
	var open []*googlePart
	for i, content := range r.Contents {
		fail := func(format string, args ...any) error {
			return fmt.Errorf("contents[%d]: %s", i, fmt.Sprintf(format, args...))
		}
		if want := []string{"user", "model"}[i%2]; content.Role != want {
			return fail("please ensure that the roles alternate: %q", content.Role)
		}
		if len(content.Parts) == 0 {
			return fail("parts: must include at least one parts field")
		}
		asked.Results = nil
		text, answered, calls := "", 0, []*googlePart(nil)
		for j, raw := range content.Parts {
			part := &googlePart{}
			if err := strict(raw, part); err != nil {
				return fail("parts[%d]: invalid JSON payload received: %v", j, err)
			}
			switch {
			case part.Text != nil && part.FunctionCall == nil && part.FunctionResponse == nil && part.InlineData == nil:
				if *part.Text == "" && !part.Thought {
					return fail("parts[%d]: empty text", j)
				}
				text += *part.Text
			case part.InlineData != nil && part.InlineData.MIMEType != "" && part.InlineData.Data != "",
				part.FileData != nil && part.FileData.FileURI != "":
				asked.Images++
			case part.FunctionCall != nil && content.Role == "model" && part.FunctionCall.Name != "":
				calls = append(calls, part)
			case part.FunctionResponse != nil && content.Role == "user":
				if answered >= len(open) || part.FunctionResponse.Name != open[answered].FunctionCall.Name ||
					part.FunctionResponse.ID != open[answered].FunctionCall.ID ||
					part.FunctionResponse.Response == nil {
					return fail("parts[%d]: please ensure that function response parts match the function call parts",
						j)
				}
				data, _ := json.Marshal(part.FunctionResponse.Response) // it was read
				asked.Results = append(asked.Results, Result{part.FunctionResponse.Name, string(data)})
				answered++
			default:
				return fail("parts[%d].data: required oneof field 'data' must have one initialized field", j)
			}
		}
		if content.Role == "user" && answered != len(open) {
			return fail("please ensure that the number of function response parts is equal to the number of function " +
				"call parts of the function call turn")
		}
		for _, call := range calls {
			if want := s.signed[call.FunctionCall.ID]; want != "" && call.ThoughtSignature != want {
				return fail("function call %s is missing a thought_signature", call.FunctionCall.Name)
			}
		}
		open = calls
		asked.Texts = append(asked.Texts, text)
	}
	if len(open) > 0 {
		return errors.New("please ensure that function call turn is followed by a function response turn")
	}
	return nil
}

var googleFinish = map[string]string{
	"stop": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY", "tool_calls": "STOP",
}

func (googleFormat) write(s *Server, _ vendor, w http.ResponseWriter, asked Request, a Answer) {
	var parts []any
	if a.Thought != "" {
		parts = append(parts, map[string]any{"text": a.Thought, "thought": true})
	}
	texts := []string{a.Text}
	if asked.Stream {
		texts = pieces(a.Text)
	}
	for _, text := range texts {
		if text != "" {
			parts = append(parts, map[string]any{"text": text})
		}
	}
	for i, call := range a.Calls {
		f := map[string]any{"name": call.Name, "args": args(call)}
		part := map[string]any{"functionCall": f}
		if a.Thought != "" { // models that sign also give IDs
			id := s.id("g")
			f["id"] = id
			if i == 0 {
				part["thoughtSignature"] = "sig:" + a.Thought
				s.signed[id] = "sig:" + a.Thought
			}
		}
		parts = append(parts, part)
	}
	usage := map[string]any{
		"promptTokenCount": InputTokens, "cachedContentTokenCount": CachedTokens,
		"candidatesTokenCount": OutputTokens - ThoughtsTokens, "thoughtsTokenCount": ThoughtsTokens,
		"totalTokenCount": InputTokens + OutputTokens,
	}
	chunk := func(finish string, parts ...any) map[string]any {
		candidate := map[string]any{"index": 0}
		if parts != nil {
			candidate["content"] = map[string]any{"role": "model", "parts": parts}
		}
		answer := map[string]any{"candidates": []any{candidate}, "modelVersion": asked.Model}
		if finish != "" {
			candidate["finishReason"], answer["usageMetadata"] = finish, usage
		}
		return answer
	}
	finish := a.finish(googleFinish)
	if !asked.Stream {
		writeJSON(w, chunk(finish, parts...))
		return
	}
	out := newStream(w, a)
	for _, part := range parts {
		out.send("", chunk("", part))
	}
	if !a.Cut {
		out.send("", chunk(finish))
	}
}

func (googleFormat) refuse(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{
		"code": status, "message": message, "status": "INVALID_ARGUMENT",
	}})
}
