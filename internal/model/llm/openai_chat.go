package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/config"
)

// The body of POST /chat/completions (https://platform.openai.com/docs/api-reference/chat/create).
type chatBody struct {
	Model      string        `json:"model"`
	Messages   []chatMessage `json:"messages"`
	Tools      []chatTool    `json:"tools,omitempty"`
	ToolChoice any           `json:"tool_choice,omitempty"`
	Format     any           `json:"response_format,omitempty"`
	sampling
	Seed          *int `json:"seed,omitempty"`
	RandomSeed    *int `json:"random_seed,omitempty"`
	MaxTokens     int  `json:"max_tokens,omitempty"`
	MaxCompletion int  `json:"max_completion_tokens,omitempty"`
	Stream        bool `json:"stream,omitempty"`
	// StreamOptions asks for the usage, which the last piece of a stream then tells.
	StreamOptions object `json:"stream_options,omitempty"`
}

type sampling struct {
	Temperature *float64 `json:"temperature,omitempty"`
	TopP        *float64 `json:"top_p,omitempty"`
}

type chatMessage struct {
	Role       chat.Role  `json:"role"`
	Content    any        `json:"content"`
	ToolCalls  []chatCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
	// Of these two, that of the dialect is a part of the model's message, which it wants back.
	ReasoningContent json.RawMessage `json:"reasoning_content,omitempty"`
	ReasoningDetails json.RawMessage `json:"reasoning_details,omitempty"`
}

type chatCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function functionCall `json:"function"`
}

type functionCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type chatTool struct {
	Type     string `json:"type"`
	Function Tool   `json:"function"`
}

type object map[string]any

func encodeChat(m config.Model, r Request, d dialect, streamed bool) (any, error) {
	body := chatBody{Model: m.Name, sampling: sampling{r.Temperature, r.TopP}, MaxTokens: r.MaxTokens, Stream: streamed}
	if d.maxCompletion {
		body.MaxTokens, body.MaxCompletion = 0, r.MaxTokens
	}
	switch d.seed {
	case "seed":
		body.Seed = r.Seed
	case "random_seed":
		body.RandomSeed = r.Seed
	}
	if streamed && !d.usageUnasked {
		body.StreamOptions = object{"include_usage": true}
	}
	var err error
	if body.Messages, err = chatMessages(r.Messages, d); err != nil {
		return nil, err
	}
	for _, tool := range r.Tools {
		body.Tools = append(body.Tools, chatTool{"function", tool})
	}
	switch r.ToolChoice {
	case "":
	case "auto", "none", "required":
		body.ToolChoice = r.ToolChoice
	default:
		body.ToolChoice = object{"type": "function", "function": object{"name": r.ToolChoice}}
	}
	switch {
	case r.Schema == nil:
	case d.plainJSON:
		body.Format = object{"type": "json_object"}
	default:
		body.Format = object{"type": "json_schema", "json_schema": object{
			"name": r.Schema.Name, "schema": r.Schema.JSON, "strict": true,
		}}
	}
	return body, nil
}

func chatMessages(messages []chat.Message, d dialect) ([]chatMessage, error) {
	ids := callIDs{fit: d.callID}
	list := make([]chatMessage, len(messages))
	for i, message := range messages {
		encoded := chatMessage{Role: message.Role, Content: message.Content.Text}
		switch {
		case message.Content.Blocks != nil:
			parts, err := chatParts(message.Content.Blocks)
			if err != nil {
				return nil, fmt.Errorf("messages[%d]: %w", i, err)
			}
			encoded.Content = parts
		case len(message.ToolCalls) > 0 && message.Content.Text == "":
			encoded.Content = nil // as the API itself writes a message that only calls tools
		}
		if len(message.ToolCalls) > 0 {
			ids.message()
		}
		for _, call := range message.ToolCalls {
			encoded.ToolCalls = append(encoded.ToolCalls, chatCall{
				ids.call(call.ID), "function", functionCall{call.Name, FormatArgs(call.Args)},
			})
		}
		if message.Role == chat.Tool {
			encoded.ToolCallID, _ = ids.answer(message.ToolCallID)
		}
		switch {
		case message.Native.Format != d.thoughts:
		case d.thoughts == "reasoning_content":
			encoded.ReasoningContent = message.Native.Value
		case d.thoughts == "reasoning_details":
			encoded.ReasoningDetails = message.Native.Value
		}
		list[i] = encoded
	}
	if n := len(list); d.userLast && n > 0 && !slices.ContainsFunc(list, func(m chatMessage) bool {
		return m.Role != chat.System
	}) {
		list[n-1].Role = chat.User
	}
	return list, nil
}

func chatParts(blocks []chat.Block) ([]object, error) {
	parts := make([]object, len(blocks))
	for i, b := range blocks {
		switch b.Type {
		case "text", "file":
			parts[i] = object{"type": "text", "text": b.Value}
		case "image":
			parts[i] = object{"type": "image_url", "image_url": object{"url": b.Value}}
		default:
			return nil, fmt.Errorf("unknown content block %q", b.Type)
		}
	}
	return parts, nil
}

// answerUsage is the count of tokens in an answer; nil when there is none. Servers that do not count send zeros.
type answerUsage struct {
	Input        int `json:"prompt_tokens"`
	InputDetails struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	Output  int `json:"completion_tokens"`
	Total   int `json:"total_tokens"`
	Details struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

func (u *answerUsage) count() chat.Usage {
	if u == nil || u.Input+u.Output == 0 {
		return chat.Usage{Unknown: true}
	}
	usage := chat.Usage{
		InputTokens: u.Input, OutputTokens: u.Output, CachedTokens: u.InputDetails.Cached,
		ReasoningTokens: u.Details.Reasoning,
	}
	// xAI counts them beside the completion
	if u.Details.Reasoning > 0 && u.Total == u.Input+u.Output+u.Details.Reasoning {
		usage.OutputTokens += u.Details.Reasoning
	}
	return usage
}

// chatAnswer is the message of an answer.
type chatAnswer struct {
	Content          any             `json:"content"`
	Refusal          string          `json:"refusal"`
	ToolCalls        []answerCall    `json:"tool_calls"`
	ReasoningContent json.RawMessage `json:"reasoning_content"`
	ReasoningDetails json.RawMessage `json:"reasoning_details"`
}

// thoughts returns what has to come back with a message that calls tools.
func (a *chatAnswer) thoughts(d dialect) chat.Native {
	value := map[string]json.RawMessage{
		"reasoning_content": a.ReasoningContent, "reasoning_details": a.ReasoningDetails,
	}[d.thoughts]
	if len(a.ToolCalls) == 0 || len(value) == 0 || string(value) == "null" {
		return chat.Native{}
	}
	return chat.Native{Format: d.thoughts, Value: value}
}

func decodeChat(body []byte, d dialect) (chat.Reply, error) {
	var answer struct {
		Choices []struct {
			Message chatAnswer `json:"message"`
			Finish  string     `json:"finish_reason"`
		} `json:"choices"`
		Model answeredBy   `json:"model"`
		Usage *answerUsage `json:"usage"`
		Error *answerError `json:"error"`
	}
	if err := decodeJSON(body, &answer); err != nil {
		return chat.Reply{}, err
	}
	if len(answer.Choices) == 0 {
		if answer.Error != nil {
			return chat.Reply{}, answer.Error.fault()
		}
		return chat.Reply{}, errors.New("the answer has no choices")
	}
	message := answer.Choices[0].Message
	text, err := answerText(message.Content)
	if err != nil {
		return chat.Reply{}, err
	}
	finish := answer.Choices[0].Finish
	if message.Content == nil && len(message.ToolCalls) == 0 && message.Refusal == "" {
		return chat.Reply{}, errNoContent(finish)
	}
	reply := chat.Reply{
		Text: text, FinishReason: chat.FinishReason(finish), Usage: answer.Usage.count(), Native: message.thoughts(d),
		Model: string(answer.Model),
	}
	for _, call := range message.ToolCalls {
		reply.ToolCalls = append(reply.ToolCalls, chat.ToolCall{
			ID: call.ID, Name: call.Function.Name, Args: call.args(),
		})
	}
	if strings.TrimSpace(reply.Text) == "" && len(reply.ToolCalls) == 0 && message.Refusal != "" {
		reply.Text = message.Refusal
	}
	return unlessWithheld(reply, finish)
}
