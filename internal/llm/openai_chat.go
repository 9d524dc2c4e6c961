package llm

import (
	"errors"
	"fmt"
	"strings"

	"rehearse/internal/chat"
	"rehearse/internal/config"
)

// The body of POST /chat/completions (https://platform.openai.com/docs/api-reference/chat/create).
type chatBody struct {
	Model      string        `json:"model"`
	Messages   []chatMessage `json:"messages"`
	Tools      []chatTool    `json:"tools,omitempty"`
	ToolChoice any           `json:"tool_choice,omitempty"`
	Format     any           `json:"response_format,omitempty"`
	sampling
	Seed      *int `json:"seed,omitempty"`
	MaxTokens int  `json:"max_tokens,omitempty"`
	// OpenAI's reasoning models refuse max_tokens; most other servers know nothing else.
	MaxCompletion int `json:"max_completion_tokens,omitempty"`
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

func encodeChat(m config.Model, r Request, public bool) (any, error) {
	body := chatBody{
		Model: m.Name, Messages: make([]chatMessage, len(r.Messages)),
		sampling: sampling{r.Temperature, r.TopP}, Seed: r.Seed, MaxTokens: r.MaxTokens,
	}
	if public {
		body.MaxTokens, body.MaxCompletion = 0, r.MaxTokens
	}
	for i, message := range r.Messages {
		encoded := chatMessage{Role: message.Role, Content: message.Content.Text, ToolCallID: message.ToolCallID}
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
		for _, call := range message.ToolCalls {
			encoded.ToolCalls = append(encoded.ToolCalls, chatCall{call.ID, "function", functionCall{call.Name, FormatArgs(call.Args)}})
		}
		body.Messages[i] = encoded
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
	if r.Schema != nil {
		body.Format = object{"type": "json_schema", "json_schema": object{"name": r.Schema.Name, "schema": r.Schema.JSON, "strict": true}}
	}
	return body, nil
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
	Input  int `json:"prompt_tokens"`
	Output int `json:"completion_tokens"`
}

func (u *answerUsage) count() chat.Usage {
	if u == nil || u.Input+u.Output == 0 {
		return chat.Usage{Unknown: true}
	}
	return chat.Usage{InputTokens: u.Input, OutputTokens: u.Output}
}

func decodeChat(body []byte) (chat.Reply, error) {
	var answer struct {
		Choices []struct {
			Message struct {
				Content   any          `json:"content"`
				Refusal   string       `json:"refusal"`
				ToolCalls []answerCall `json:"tool_calls"`
			} `json:"message"`
			Finish string `json:"finish_reason"`
		} `json:"choices"`
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
	finish := finishReason(answer.Choices[0].Finish)
	if message.Content == nil && len(message.ToolCalls) == 0 && message.Refusal == "" {
		return chat.Reply{}, errNoContent(finish)
	}
	reply := chat.Reply{Text: text, FinishReason: finish, Usage: answer.Usage.count()}
	for _, call := range message.ToolCalls {
		reply.ToolCalls = append(reply.ToolCalls, chat.ToolCall{ID: call.ID, Name: call.Function.Name, Args: call.args()})
	}
	if strings.TrimSpace(reply.Text) == "" && len(reply.ToolCalls) == 0 && message.Refusal != "" {
		reply.Text = message.Refusal
	}
	return reply, nil
}
