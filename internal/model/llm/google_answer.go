package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

type googleAnswer struct {
	Candidates []struct {
		Content struct {
			Parts []json.RawMessage `json:"parts"`
		} `json:"content"`
		Finish  string `json:"finishReason"`
		Message string `json:"finishMessage"`
	} `json:"candidates"`
	Feedback struct {
		Block   string `json:"blockReason"`
		Message string `json:"blockReasonMessage"`
	} `json:"promptFeedback"`
	Model answeredBy   `json:"modelVersion"`
	Usage *googleUsage `json:"usageMetadata"`
	Error *googleError `json:"error"`
}

// googlePartAnswer is a part of an answer. Parts that are thoughts, or of other kinds, are passed over.
type googlePartAnswer struct {
	Text      string `json:"text"`
	Thought   bool   `json:"thought"`
	Signature string `json:"thoughtSignature"`
	Call      *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
}

// googleUsage counts thoughts beside the candidates, and results of Google's own tools beside the prompt.
type googleUsage struct {
	Prompt     int `json:"promptTokenCount"`
	Cached     int `json:"cachedContentTokenCount"`
	ToolUse    int `json:"toolUsePromptTokenCount"`
	Candidates int `json:"candidatesTokenCount"`
	Thoughts   int `json:"thoughtsTokenCount"`
}

func (u *googleUsage) count() chat.Usage {
	if u == nil || u.Prompt+u.ToolUse+u.Candidates+u.Thoughts == 0 {
		return chat.Usage{Unknown: true}
	}
	return chat.Usage{
		InputTokens: u.Prompt + u.ToolUse, OutputTokens: u.Candidates + u.Thoughts, CachedTokens: u.Cached,
		ReasoningTokens: u.Thoughts,
	}
}

func decodeGoogle(body []byte) (chat.Reply, error) {
	var answer googleAnswer
	if err := decodeJSON(body, &answer); err != nil {
		return chat.Reply{}, err
	}
	a := googleAssembly{token: func(string) {}}
	if err := a.take(answer); err != nil {
		return chat.Reply{}, err
	}
	return a.reply()
}

// googleAssembly puts an answer together from the parts of a stream. An answer that comes whole is a stream of one.
type googleAssembly struct {
	token func(string)
	text  strings.Builder
	calls []chat.ToolCall
	parts []json.RawMessage
	usage *googleUsage
	model answeredBy
	// finish is Google's word for why the model stopped, why what it says of that.
	finish, why string
	// signed says that a part has a signature, spoke that there was text, be it empty, blocked that the prompt was
	// refused.
	signed, spoke, blocked bool
}

func (a *googleAssembly) add(data []byte) error {
	var answer googleAnswer
	if err := decodeJSON(data, &answer); err != nil {
		return err
	}
	return a.take(answer)
}

func (a *googleAssembly) complete() bool { return a.finish != "" }

func (a *googleAssembly) take(answer googleAnswer) error {
	if answer.Error != nil {
		return answer.Error.fault()
	}
	if answer.Usage != nil {
		a.usage = answer.Usage
	}
	if answer.Model != "" {
		a.model = answer.Model
	}
	if answer.Feedback.Block != "" {
		a.finish, a.why, a.blocked = answer.Feedback.Block, answer.Feedback.Message, true
	}
	if len(answer.Candidates) == 0 {
		return nil
	}
	candidate := answer.Candidates[0]
	a.finish, a.why = orElse(candidate.Finish, a.finish), orElse(candidate.Message, a.why)
	for _, raw := range candidate.Content.Parts {
		var part googlePartAnswer
		if err := decodeJSON(raw, &part); err != nil {
			return err
		}
		a.parts = append(a.parts, raw)
		a.signed = a.signed || part.Signature != ""
		switch {
		case part.Thought:
		case part.Call != nil:
			if len(a.calls) == maxCalls {
				return fmt.Errorf("the answer is not what the protocol says: it calls more than %d tools", maxCalls)
			}
			id := orElse(part.Call.ID, fmt.Sprintf("call_%d", len(a.calls)+1))
			a.calls = append(a.calls, chat.ToolCall{
				ID: id, Name: part.Call.Name, Args: ParseArgs(string(part.Call.Args)),
			})
		default:
			a.spoke = a.spoke || strings.Contains(string(raw), `"text"`)
			if part.Text != "" {
				a.text.WriteString(part.Text)
				a.token(part.Text)
			}
		}
	}
	return nil
}

func (a *googleAssembly) reply() (chat.Reply, error) {
	if !a.spoke && len(a.calls) == 0 {
		if a.finish == "" {
			return chat.Reply{}, errors.New("the answer has no candidates")
		}
		return chat.Reply{}, errSilent("parts", a.finish, a.why)
	}
	reply := chat.Reply{
		Text: a.text.String(), ToolCalls: a.calls, Usage: a.usage.count(), FinishReason: a.reason(),
		Model: string(a.model),
	}
	if len(a.calls) > 0 && reply.FinishReason == "stop" {
		reply.FinishReason = "tool_calls"
	}
	if len(a.calls) > 0 && a.signed {
		parts, err := json.Marshal(a.parts)
		if err != nil {
			return chat.Reply{}, err
		}
		reply.Native = chat.Native{Format: googleFormat, Value: parts}
	}
	return unlessWithheld(reply, a.finish)
}

// reason returns why the model stopped in the words of chat.Reply. A prompt that was blocked is filtered, whatever the
// reason.
func (a *googleAssembly) reason() string {
	if a.blocked {
		return "content_filter"
	}
	return chat.FinishReason(a.finish)
}

// googleError is an error in the body of an answer or in a stream (https://cloud.google.com/apis/design/errors).
type googleError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Details []struct {
		RetryDelay string `json:"retryDelay"`
	} `json:"details"`
}

// wait returns how long Google asks to wait, in a google.rpc.RetryInfo; 0 when it does not say.
func (e *googleError) wait() time.Duration {
	for _, d := range e.Details {
		if asked, err := time.ParseDuration(d.RetryDelay); err == nil && asked > 0 {
			return asked
		}
	}
	return 0
}

func (e *googleError) fault() *Error {
	message := clip(oneLine(e.Message))
	if e.Code < http.StatusBadRequest {
		return &Error{Fault: Malformed, Message: "the answer holds an error instead of a reply: " + message}
	}
	return statusError(e.Code, e.wait(), message)
}

// googleRetry returns how long the body of a refusal asks to wait; 0 for a body of another provider.
func googleRetry(body []byte) time.Duration {
	var said struct {
		Error googleError `json:"error"`
	}
	if json.Unmarshal(body, &said) != nil {
		return 0
	}
	return said.Error.wait()
}
