package llm

import (
	"encoding/json"
	"net/http"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

type anthropicAnswer struct {
	Type       string            `json:"type"`
	Error      *anthropicError   `json:"error"`
	Content    []json.RawMessage `json:"content"`
	StopReason string            `json:"stop_reason"`
	Usage      *anthropicUsage   `json:"usage"`
	Model      answeredBy        `json:"model"`
}

// anthropicBlock is a block of an answer. Blocks of other types, such as thinking, are passed over.
type anthropicBlock struct {
	Type  string          `json:"type"`
	Text  string          `json:"text"`
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

// anthropicUsage counts input that was read from the cache or written into it beside the rest.
type anthropicUsage struct {
	Input   int `json:"input_tokens"`
	Written int `json:"cache_creation_input_tokens"`
	Read    int `json:"cache_read_input_tokens"`
	Output  int `json:"output_tokens"`
}

func (u *anthropicUsage) count() chat.Usage {
	if u == nil || u.Input+u.Written+u.Read+u.Output == 0 {
		return chat.Usage{Unknown: true}
	}
	return chat.Usage{InputTokens: u.Input + u.Written + u.Read, OutputTokens: u.Output, CachedTokens: u.Read}
}

func decodeAnthropic(r Request, body []byte) (chat.Reply, error) {
	var answer anthropicAnswer
	if err := decodeJSON(body, &answer); err != nil {
		return chat.Reply{}, err
	}
	return answer.reply(replyTool(r))
}

// reply returns the reply of an answer. The call of replyTool is its text.
func (a *anthropicAnswer) reply(replyTool string) (chat.Reply, error) {
	if a.Error != nil {
		return chat.Reply{}, a.Error.fault()
	}
	reply := chat.Reply{Usage: a.Usage.count(), FinishReason: chat.FinishReason(a.StopReason), Model: string(a.Model)}
	spoke, thought := false, false
	for _, raw := range a.Content {
		var b anthropicBlock
		if err := decodeJSON(raw, &b); err != nil {
			return chat.Reply{}, err
		}
		switch {
		case b.Type == "text":
			reply.Text += b.Text
			spoke = true
		case b.Type == "tool_use" && b.Name == replyTool:
			reply.Text, spoke, reply.FinishReason = string(b.Input), true, finishedReply(reply.FinishReason)
		case b.Type == "tool_use":
			reply.ToolCalls = append(reply.ToolCalls, chat.ToolCall{
				ID: b.ID, Name: b.Name, Args: ParseArgs(string(b.Input)),
			})
		default:
			thought = true
		}
	}
	if !spoke && len(reply.ToolCalls) == 0 {
		return chat.Reply{}, errSilent("content", a.StopReason, "")
	}
	if thought && len(reply.ToolCalls) > 0 {
		blocks, err := json.Marshal(a.Content)
		if err != nil {
			return chat.Reply{}, err
		}
		reply.Native = chat.Native{Format: anthropicFormat, Value: blocks}
	}
	return unlessWithheld(reply, a.StopReason)
}

// finishedReply is the finish reason of a reply that came as the call of a tool.
func finishedReply(reason string) string {
	if reason == "tool_calls" {
		return "stop"
	}
	return reason
}

// anthropicError is an error in the body of an answer or in a stream (https://platform.claude.com/docs/en/api/errors).
type anthropicError struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

func (e *anthropicError) fault() *Error {
	message := clip(oneLine(e.Message))
	status := map[string]int{
		"invalid_request_error": http.StatusBadRequest, "authentication_error": http.StatusUnauthorized,
		"billing_error": http.StatusPaymentRequired, "permission_error": http.StatusForbidden,
		"not_found_error": http.StatusNotFound, "request_too_large": http.StatusRequestEntityTooLarge,
		"rate_limit_error": http.StatusTooManyRequests, "api_error": http.StatusInternalServerError,
		"timeout_error": http.StatusGatewayTimeout, "overloaded_error": 529,
	}[e.Type]
	if status == 0 {
		return &Error{Fault: Malformed, Message: "the answer holds an error instead of a reply: " + message}
	}
	return statusError(status, 0, message)
}
