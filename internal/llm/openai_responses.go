package llm

import (
	"errors"
	"fmt"
	"strings"

	"rehearse/internal/chat"
	"rehearse/internal/config"
)

// The body of POST /responses (https://platform.openai.com/docs/api-reference/responses/create), which has no seed.
type responsesBody struct {
	Model      string   `json:"model"`
	Input      []object `json:"input"`
	Tools      []object `json:"tools,omitempty"`
	ToolChoice any      `json:"tool_choice,omitempty"`
	Text       any      `json:"text,omitempty"`
	sampling
	MaxTokens int `json:"max_output_tokens,omitempty"`
}

func encodeResponses(m config.Model, r Request, _ bool) (any, error) {
	body := responsesBody{Model: m.Name, Input: []object{}, sampling: sampling{r.Temperature, r.TopP}, MaxTokens: r.MaxTokens}
	for i, message := range r.Messages {
		items, err := responsesItems(message)
		if err != nil {
			return nil, fmt.Errorf("messages[%d]: %w", i, err)
		}
		body.Input = append(body.Input, items...)
	}
	for _, tool := range r.Tools {
		// Strict is the default here but not in chat completions; a tool has to mean the same in both.
		item := object{"type": "function", "name": tool.Name, "strict": false}
		if tool.Description != "" {
			item["description"] = tool.Description
		}
		if tool.Parameters != nil {
			item["parameters"] = tool.Parameters
		}
		body.Tools = append(body.Tools, item)
	}
	switch r.ToolChoice {
	case "":
	case "auto", "none", "required":
		body.ToolChoice = r.ToolChoice
	default:
		body.ToolChoice = object{"type": "function", "name": r.ToolChoice}
	}
	if r.Schema != nil {
		body.Text = object{"format": object{"type": "json_schema", "name": r.Schema.Name, "schema": r.Schema.JSON, "strict": true}}
	}
	return body, nil
}

func responsesItems(m chat.Message) ([]object, error) {
	if m.Role == chat.Tool {
		return []object{{"type": "function_call_output", "call_id": m.ToolCallID, "output": m.Content.String()}}, nil
	}
	var items []object
	if m.Content.Blocks != nil {
		parts := make([]object, len(m.Content.Blocks))
		for i, b := range m.Content.Blocks {
			switch {
			case b.Type == "image":
				parts[i] = object{"type": "input_image", "image_url": b.Value}
			case b.Type != "text" && b.Type != "file":
				return nil, fmt.Errorf("unknown content block %q", b.Type)
			case m.Role == chat.Assistant:
				parts[i] = object{"type": "output_text", "text": b.Value}
			default:
				parts[i] = object{"type": "input_text", "text": b.Value}
			}
		}
		items = append(items, object{"role": m.Role, "content": parts})
	} else if m.Content.Text != "" || len(m.ToolCalls) == 0 {
		items = append(items, object{"role": m.Role, "content": m.Content.Text})
	}
	for _, call := range m.ToolCalls {
		items = append(items, object{"type": "function_call", "call_id": call.ID, "name": call.Name, "arguments": FormatArgs(call.Args)})
	}
	return items, nil
}

func decodeResponses(body []byte) (chat.Reply, error) {
	var answer struct {
		Error  *answerError `json:"error"`
		Output []struct {
			Type    string `json:"type"`
			Content []struct {
				Text    string `json:"text"`
				Refusal string `json:"refusal"`
			} `json:"content"`
			CallID    string `json:"call_id"`
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"output"`
		Usage *chat.Usage `json:"usage"`
	}
	if err := decodeJSON(body, &answer); err != nil {
		return chat.Reply{}, err
	}
	if answer.Error != nil {
		return chat.Reply{}, answer.Error.fault()
	}
	if len(answer.Output) == 0 {
		return chat.Reply{}, errors.New("the answer has no output")
	}
	reply := chat.Reply{Usage: chat.Usage{Unknown: true}}
	if answer.Usage != nil && answer.Usage.Total() > 0 {
		reply.Usage = *answer.Usage
	}
	var refusal strings.Builder
	for _, item := range answer.Output {
		switch item.Type {
		case "message":
			for _, part := range item.Content {
				reply.Text += part.Text
				refusal.WriteString(part.Refusal)
			}
		case "function_call":
			reply.ToolCalls = append(reply.ToolCalls, chat.ToolCall{ID: item.CallID, Name: item.Name, Args: ParseArgs(item.Arguments)})
		}
	}
	if reply.Text == "" && len(reply.ToolCalls) == 0 {
		reply.Text = refusal.String()
	}
	return reply, nil
}
