package llm

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/url"
	"path"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/config"
)

// google is the Gemini API (https://ai.google.dev/api/generate-content).
func google() Provider {
	return hosted("google", "Gemini", &vendor{
		base: "https://generativelanguage.googleapis.com", baseEnv: "GOOGLE_GEMINI_BASE_URL",
		keyEnvs: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, list: "v1beta/models", keyHeader: "x-goog-api-key",
		embedding: googleEmbedding,
		wire: func(m config.Model, _ bool) (wire, *Error) {
			if m.API != "" {
				return wire{}, unknownAPI(m, "leave `api:` out: google has one")
			}
			at := "v1beta/" + googleName(m)
			return wire{
				path:     requestPath{path: at + ":generateContent"},
				streamed: requestPath{at + ":streamGenerateContent", "alt=sse"},
				encode:   func(r Request, _ bool) (any, error) { return encodeGoogle(r) },
				decode:   func(_ Request, body []byte) (chat.Reply, error) { return decodeGoogle(body) },
				assemble: func(_ Request, token func(string)) assembler { return &googleAssembly{token: token} },
			}, nil
		},
	})
}

// googleName returns the resource name of a model, as a path.
func googleName(m config.Model) string {
	name := m.Name
	if !strings.Contains(name, "/") {
		name = "models/" + name
	}
	folder, name, _ := strings.Cut(name, "/")
	return url.PathEscape(folder) + "/" + url.PathEscape(name)
}

const googleFormat = "google"

type googleBody struct {
	System     *googleContent  `json:"systemInstruction,omitempty"`
	Contents   []googleContent `json:"contents"`
	Tools      []object        `json:"tools,omitempty"`
	ToolConfig object          `json:"toolConfig,omitempty"`
	Generation *googleConfig   `json:"generationConfig,omitempty"`
}

type googleContent struct {
	Role  string `json:"role,omitempty"`
	Parts []any  `json:"parts"`
}

type googleConfig struct {
	Temperature *float64        `json:"temperature,omitempty"`
	TopP        *float64        `json:"topP,omitempty"`
	MaxTokens   int             `json:"maxOutputTokens,omitempty"`
	Seed        *int            `json:"seed,omitempty"`
	MIME        string          `json:"responseMimeType,omitempty"`
	Schema      json.RawMessage `json:"responseJsonSchema,omitempty"`
}

func encodeGoogle(r Request) (any, error) {
	d := alternate(r.Messages)
	var body googleBody
	if d.system != "" {
		body.System = &googleContent{Parts: []any{object{"text": d.system}}}
	}
	var ids []string
	for _, t := range d.turns {
		parts, err := googleParts(t, ids)
		if err != nil {
			return nil, err
		}
		ids = googleIDs(t)
		body.Contents = append(body.Contents, googleContent{
			map[chat.Role]string{chat.User: "user", chat.Assistant: "model"}[t.role], parts,
		})
	}
	var tools []object
	for _, tool := range r.Tools {
		item := object{"name": tool.Name}
		if tool.Description != "" {
			item["description"] = tool.Description
		}
		if tool.Parameters != nil {
			item["parametersJsonSchema"] = tool.Parameters
		}
		tools = append(tools, item)
	}
	if tools != nil {
		body.Tools, body.ToolConfig = []object{{"functionDeclarations": tools}}, googleChoice(r.ToolChoice)
	}
	c := googleConfig{Temperature: r.Temperature, TopP: r.TopP, MaxTokens: r.MaxTokens, Seed: r.Seed}
	if r.Schema != nil {
		c.MIME, c.Schema = "application/json", r.Schema.JSON
	}
	if c.Temperature != nil || c.TopP != nil || c.MaxTokens != 0 || c.Seed != nil || c.MIME != "" {
		body.Generation = &c
	}
	return body, nil
}

func googleChoice(choice string) object {
	calling := object{}
	switch choice {
	case "":
		return nil
	case "auto":
		calling["mode"] = "AUTO"
	case "none":
		calling["mode"] = "NONE"
	case "required":
		calling["mode"] = "ANY"
	default:
		calling["mode"], calling["allowedFunctionNames"] = "ANY", []string{choice}
	}
	return object{"functionCallingConfig": calling}
}

// googleIDs returns the IDs of a turn's calls as they go over the wire. Calls that Google wrote without an ID have
// none.
func googleIDs(t turn) []string {
	var ids []string
	for _, call := range t.calls {
		ids = append(ids, call.ID)
	}
	if n := len(t.said); n == 0 || t.said[n-1].Native.Format != googleFormat {
		return ids
	}
	var parts []googlePartAnswer
	if json.Unmarshal(t.said[len(t.said)-1].Native.Value, &parts) != nil {
		return ids
	}
	native := make([]string, 0, len(ids))
	for _, part := range parts {
		if part.Call != nil && !part.Thought {
			native = append(native, part.Call.ID)
		}
	}
	return native
}

// googleParts writes a turn: the results of tools first, then what was said, then the calls. ids are those of the calls
// before.
func googleParts(t turn, ids []string) ([]any, error) {
	var parts []any
	for i, result := range t.results {
		response := object{"name": result.call.Name, "response": googleResponse(result.text)}
		if i < len(ids) && ids[i] != "" {
			response["id"] = ids[i]
		}
		parts = append(parts, object{"functionResponse": response})
	}
	for _, m := range t.said {
		if m.Native.Format == googleFormat {
			var said []any
			if err := json.Unmarshal(m.Native.Value, &said); err != nil {
				return nil, err
			}
			parts = append(parts, said...)
			if len(m.ToolCalls) > 0 {
				return parts, nil // the calls are among the parts
			}
			continue
		}
		for _, b := range contentBlocks(m.Content) {
			part, err := googlePart(b, m.Role)
			if err != nil {
				return nil, err
			}
			if part != nil {
				parts = append(parts, part)
			}
		}
	}
	for _, call := range t.calls {
		parts = append(parts, object{"functionCall": object{
			"id": call.ID, "name": call.Name, "args": argsObject(call.Args),
		}})
	}
	return parts, nil
}

// googlePart returns a block as a part; nil for one without text.
func googlePart(b chat.Block, role chat.Role) (object, error) {
	media, data, inline := dataURL(b.Value)
	switch {
	case b.Type == "image" && role == chat.Assistant:
		return object{"text": chat.Content{Blocks: []chat.Block{b}}.String()}, nil
	case b.Type == "image" && inline:
		return object{"inlineData": object{"mimeType": media, "data": data}}, nil
	case b.Type == "image":
		file := object{"fileUri": b.Value}
		if kind := mime.TypeByExtension(path.Ext(b.Value)); kind != "" {
			file["mimeType"] = kind
		}
		return object{"fileData": file}, nil
	case b.Type != "text" && b.Type != "file":
		return nil, fmt.Errorf("unknown content block %q", b.Type)
	case strings.TrimSpace(b.Value) == "":
		return nil, nil
	}
	return object{"text": b.Value}, nil
}

// googleResponse returns the result of a tool as the object that it has to be.
func googleResponse(text string) any {
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &fields) == nil && fields != nil {
		return fields
	}
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		value = text
	}
	return object{"output": value}
}
