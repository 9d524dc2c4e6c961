package llm

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/config"
)

// anthropic is the Messages API (https://platform.claude.com/docs/en/api/messages), which has no seed.
func anthropic() Provider {
	return hosted("anthropic", "Claude", &vendor{
		base: "https://api.anthropic.com", baseEnv: "ANTHROPIC_BASE_URL", keyEnvs: []string{"ANTHROPIC_API_KEY"},
		list: "v1/models", keyHeader: "x-api-key", headers: map[string]string{"anthropic-version": "2023-06-01"},
		wire: func(m config.Model, _ bool) (wire, *Error) {
			if m.API != "" {
				return wire{}, unknownAPI(m, "leave `api:` out: anthropic has one")
			}
			return wire{
				path:   requestPath{path: "v1/messages"},
				encode: func(r Request, streamed bool) (any, error) { return encodeAnthropic(m, r, streamed) },
				decode: decodeAnthropic,
				assemble: func(r Request, token func(string)) assembler {
					return &anthropicAssembly{request: r, token: token}
				},
				seedless: true,
			}, nil
		},
	})
}

const (
	anthropicFormat = "anthropic"
	// defaultMaxTokens is sent where nothing says how long a reply may be: Anthropic wants a number.
	defaultMaxTokens = 4096
)

// replyTool returns the name of the tool by whose call a reply of a schema comes; empty without a schema.
func replyTool(r Request) string {
	if r.Schema == nil {
		return ""
	}
	name := r.Schema.Name
	for slices.ContainsFunc(r.Tools, func(t Tool) bool { return t.Name == name }) {
		name += "_"
	}
	return name
}

type anthropicBody struct {
	Model      string             `json:"model"`
	MaxTokens  int                `json:"max_tokens"`
	System     string             `json:"system,omitempty"`
	Messages   []anthropicMessage `json:"messages"`
	Tools      []object           `json:"tools,omitempty"`
	ToolChoice object             `json:"tool_choice,omitempty"`
	sampling
	Stream bool `json:"stream,omitempty"`
}

type anthropicMessage struct {
	Role    chat.Role `json:"role"`
	Content []any     `json:"content"`
}

func encodeAnthropic(m config.Model, r Request, streamed bool) (any, error) {
	d := alternate(r.Messages)
	body := anthropicBody{
		Model: m.Name, MaxTokens: r.MaxTokens, System: d.system, sampling: sampling{r.Temperature, r.TopP},
		Stream: streamed,
	}
	if body.MaxTokens == 0 {
		body.MaxTokens = defaultMaxTokens
	}
	for _, t := range d.turns {
		content, err := anthropicContent(t)
		if err != nil {
			return nil, err
		}
		body.Messages = append(body.Messages, anthropicMessage{t.role, content})
	}
	for _, tool := range r.Tools {
		item := object{"name": tool.Name, "input_schema": object{"type": "object"}}
		if tool.Description != "" {
			item["description"] = tool.Description
		}
		if tool.Parameters != nil {
			item["input_schema"] = tool.Parameters
		}
		body.Tools = append(body.Tools, item)
	}
	body.ToolChoice = anthropicChoice(r)
	if r.Schema != nil {
		body.Tools = append(body.Tools, object{
			"name": replyTool(r), "description": "Gives the reply.", "input_schema": r.Schema.JSON,
		})
	}
	return body, nil
}

// anthropicChoice returns which tool has to be called. A reply of a schema is a forced tool; beside tools of its own,
// the model may also call those.
func anthropicChoice(r Request) object {
	switch {
	case r.Schema != nil && len(r.Tools) == 0:
		return object{"type": "tool", "name": replyTool(r)}
	case r.Schema != nil:
		return object{"type": "any"}
	case len(r.Tools) == 0 || r.ToolChoice == "":
		return nil
	case r.ToolChoice == "required":
		return object{"type": "any"}
	case r.ToolChoice == "auto" || r.ToolChoice == "none":
		return object{"type": r.ToolChoice}
	}
	return object{"type": "tool", "name": r.ToolChoice}
}

// anthropicContent writes a turn: the results of tools first, then what was said, then the calls.
func anthropicContent(t turn) ([]any, error) {
	var content []any
	for _, result := range t.results {
		block := object{"type": "tool_result", "tool_use_id": result.call.ID}
		if strings.TrimSpace(result.text) != "" {
			block["content"] = result.text
		}
		content = append(content, block)
	}
	for _, m := range t.said {
		if m.Native.Format == anthropicFormat {
			var blocks []any
			if err := json.Unmarshal(m.Native.Value, &blocks); err != nil {
				return nil, err
			}
			content = append(content, blocks...)
			if len(m.ToolCalls) > 0 {
				return content, nil // the calls are among the blocks
			}
			continue
		}
		blocks, err := anthropicBlocks(m)
		if err != nil {
			return nil, err
		}
		content = append(content, blocks...)
	}
	for _, call := range t.calls {
		content = append(content, object{
			"type": "tool_use", "id": call.ID, "name": call.Name, "input": argsObject(call.Args),
		})
	}
	return content, nil
}

func anthropicBlocks(m chat.Message) (blocks []any, err error) {
	for _, b := range contentBlocks(m.Content) {
		media, data, inline := dataURL(b.Value)
		switch {
		case b.Type == "image" && m.Role == chat.Assistant: // it cannot say one
			blocks = append(blocks, object{"type": "text", "text": chat.Content{Blocks: []chat.Block{b}}.String()})
		case b.Type == "image" && inline:
			blocks = append(blocks, object{
				"type": "image", "source": object{"type": "base64", "media_type": media, "data": data},
			})
		case b.Type == "image":
			blocks = append(blocks, object{"type": "image", "source": object{"type": "url", "url": b.Value}})
		case b.Type == "text" || b.Type == "file":
			if strings.TrimSpace(b.Value) != "" {
				blocks = append(blocks, object{"type": "text", "text": b.Value})
			}
		default:
			return nil, fmt.Errorf("unknown content block %q", b.Type)
		}
	}
	return blocks, nil
}

// contentBlocks returns content as blocks.
func contentBlocks(c chat.Content) []chat.Block {
	if c.Blocks != nil {
		return c.Blocks
	}
	return []chat.Block{{Type: "text", Value: c.Text}}
}
