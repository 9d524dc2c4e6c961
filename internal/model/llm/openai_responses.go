package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/config"
)

// The body of POST /responses (https://platform.openai.com/docs/api-reference/responses/create), which has no seed.
type responsesBody struct {
	Model      string   `json:"model"`
	Input      []object `json:"input"`
	Tools      []object `json:"tools,omitempty"`
	ToolChoice any      `json:"tool_choice,omitempty"`
	Text       any      `json:"text,omitempty"`
	sampling
	MaxTokens int  `json:"max_output_tokens,omitempty"`
	Stream    bool `json:"stream,omitempty"`
	// Previous is the response that this one goes on from, Conversation the conversation to which it belongs; at most
	// one is set.
	Previous     string `json:"previous_response_id,omitempty"`
	Conversation string `json:"conversation,omitempty"`
}

func encodeResponses(m config.Model, r Request, streamed bool) (any, error) {
	body := responsesBody{
		Model: m.Name, Input: []object{}, sampling: sampling{r.Temperature, r.TopP}, MaxTokens: r.MaxTokens,
		Stream: streamed,
	}
	if t := r.Thread; t != nil && t.State == stateConversation {
		body.Conversation = t.ID
	} else if t != nil {
		body.Previous = t.ID
	}
	ids := callIDs{}
	for i, message := range r.Messages {
		items, err := responsesItems(message, &ids)
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
		body.Text = object{"format": object{
			"type": "json_schema", "name": r.Schema.Name, "schema": r.Schema.JSON, "strict": true,
		}}
	}
	return body, nil
}

func responsesItems(m chat.Message, ids *callIDs) ([]object, error) {
	if m.Role == chat.Tool {
		id, _ := ids.answer(m.ToolCallID)
		return []object{{"type": "function_call_output", "call_id": id, "output": m.Content.String()}}, nil
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
	if len(m.ToolCalls) > 0 {
		ids.message()
	}
	for _, call := range m.ToolCalls {
		items = append(items, object{
			"type": "function_call", "call_id": ids.call(call.ID), "name": call.Name,
			"arguments": FormatArgs(call.Args),
		})
	}
	return items, nil
}

// responsesAnswer is a response (https://platform.openai.com/docs/api-reference/responses/object).
type responsesAnswer struct {
	ID         string       `json:"id"`
	Model      answeredBy   `json:"model"`
	Error      *answerError `json:"error"`
	Incomplete *struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Status string `json:"status"`
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
	Usage *struct {
		Input        int `json:"input_tokens"`
		InputDetails struct {
			Cached int `json:"cached_tokens"`
		} `json:"input_tokens_details"`
		Output        int `json:"output_tokens"`
		OutputDetails struct {
			Reasoning int `json:"reasoning_tokens"`
		} `json:"output_tokens_details"`
	} `json:"usage"`
}

func decodeResponses(body []byte) (chat.Reply, error) {
	var answer responsesAnswer
	if err := decodeJSON(body, &answer); err != nil {
		return chat.Reply{}, err
	}
	return answer.reply()
}

func (a *responsesAnswer) reply() (chat.Reply, error) {
	if a.Error != nil {
		return chat.Reply{}, a.Error.fault()
	}
	if len(a.Output) == 0 {
		return chat.Reply{}, errors.New("the answer has no output")
	}
	reply := chat.Reply{Usage: chat.Usage{Unknown: true}, Thread: a.ID, Model: string(a.Model)}
	if u := a.Usage; u != nil && u.Input+u.Output > 0 {
		reply.Usage = chat.Usage{
			InputTokens: u.Input, OutputTokens: u.Output, CachedTokens: u.InputDetails.Cached,
			ReasoningTokens: u.OutputDetails.Reasoning,
		}
	}
	var refusal strings.Builder
	said := false
	for _, item := range a.Output {
		switch item.Type {
		case "message":
			said = said || len(item.Content) > 0
			for _, part := range item.Content {
				reply.Text += part.Text
				refusal.WriteString(part.Refusal)
			}
		case "function_call":
			reply.ToolCalls = append(reply.ToolCalls, chat.ToolCall{
				ID: item.CallID, Name: item.Name, Args: ParseArgs(item.Arguments),
			})
		}
	}
	reply.FinishReason = a.finish(reply)
	if !said && len(reply.ToolCalls) == 0 {
		return chat.Reply{}, errSilent("output", reply.FinishReason, "")
	}
	if reply.Text == "" && len(reply.ToolCalls) == 0 {
		reply.Text = refusal.String()
	}
	return unlessWithheld(reply, reply.FinishReason)
}

// finish returns why the model stopped. A response says only why it is incomplete.
func (a *responsesAnswer) finish(reply chat.Reply) string {
	switch {
	case a.Incomplete != nil:
		return orElse(chat.FinishReason(a.Incomplete.Reason), "other")
	case a.Status == "completed":
		return ended(reply)
	case a.Status == "":
		return ""
	}
	return "other"
}

// responsesAssembly puts a reply together from the events of a stream: the last event holds the whole
// (https://platform.openai.com/docs/api-reference/responses-streaming).
type responsesAssembly struct {
	token func(string)
	whole *responsesAnswer
	gave  bool
}

func (a *responsesAssembly) add(data []byte) error {
	var event struct {
		Type     string           `json:"type"`
		Delta    json.RawMessage  `json:"delta"`
		Response *responsesAnswer `json:"response"`
		// Of an event that is an error.
		answerError
	}
	if string(data) == "[DONE]" || a.whole != nil {
		return nil
	}
	if err := decodeJSON(data, &event); err != nil {
		return err
	}
	switch event.Type {
	case "response.output_text.delta":
		var text string
		if err := decodeJSON(event.Delta, &text); err != nil {
			return err
		}
		if text != "" {
			a.gave = true
			a.token(text)
		}
	case "error":
		return event.fault()
	case "response.completed", "response.incomplete", "response.failed":
		if a.whole = event.Response; a.whole == nil {
			return errors.New("the answer is not what the protocol says: its last event holds no response")
		}
	}
	return nil
}

func (a *responsesAssembly) complete() bool { return a.whole != nil }

// reply returns the whole. A refusal is given out as text only now.
func (a *responsesAssembly) reply() (chat.Reply, error) {
	reply, err := a.whole.reply()
	if err == nil && !a.gave && reply.Text != "" {
		a.token(reply.Text)
	}
	return reply, err
}
