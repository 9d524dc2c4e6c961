package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

// answerText returns the content of an answer: a text, or the texts of a list of parts; nothing is "".
func answerText(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	case []any:
		var b strings.Builder
		for _, item := range v {
			part, _ := item.(map[string]any)
			text, _ := part["text"].(string)
			b.WriteString(text)
		}
		return b.String(), nil
	}
	return "", errors.New("the answer is not what the protocol says: its content is not text")
}

// errNoContent says what is missing in an answer that says nothing. The empty text would be a reply. The server's word
// for its end may be empty.
func errNoContent(word string) error {
	text := "the answer has neither content nor tool calls: message.content is null or absent"
	if word != "" {
		text += " (finish_reason " + reasonNamed(word) + ")"
	}
	return errors.New(text)
}

// errSilent says of an answer that it says nothing; where names its place. The provider's word for its end may be
// empty, and so may what it adds.
func errSilent(where, word, why string) error {
	text := "the answer has neither text nor tool calls in its " + where
	if word != "" {
		text += " (" + strings.TrimSuffix(reasonNamed(word)+": "+clip(oneLine(why)), ": ") + ")"
	}
	return errors.New(text)
}

// reasonNamed returns the word of a provider, after the finish reason of withheld replies that it stands for where that
// is another.
func reasonNamed(word string) string {
	withheld := chat.Reply{FinishReason: word}.Withheld()
	if withheld == "" || withheld == word {
		return word
	}
	return withheld + ", " + word
}

// unlessWithheld returns a reply, or the error of one that has nothing to grade; see chat.Reply.Withheld. Word is the
// provider's for its end.
func unlessWithheld(reply chat.Reply, word string) (chat.Reply, error) {
	if reply.Withheld() == "" {
		return reply, nil
	}
	return chat.Reply{}, errors.New("the reply is empty: it ended with the finish reason " + reasonNamed(word))
}

// answeredBy is the model that an answer names. A server that writes something else than a text there names none.
type answeredBy string

// UnmarshalJSON reads a string; anything else is no name, and no mistake.
func (a *answeredBy) UnmarshalJSON(data []byte) error {
	var name string
	if json.Unmarshal(data, &name) == nil {
		*a = answeredBy(name)
	}
	return nil
}

// ended is the finish reason of a model that always says all that it has to say.
func ended(reply chat.Reply) string {
	if len(reply.ToolCalls) > 0 {
		return "tool_calls"
	}
	return "stop"
}

type answerCall struct {
	ID       string `json:"id"`
	Function struct {
		Name string `json:"name"`
		// Arguments is a string that holds JSON; some servers send the object itself.
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

func (c answerCall) args() json.RawMessage {
	var text string
	if len(c.Function.Arguments) > 0 && c.Function.Arguments[0] == '{' {
		return c.Function.Arguments
	}
	if json.Unmarshal(c.Function.Arguments, &text) != nil {
		text = string(c.Function.Arguments)
	}
	return ParseArgs(text)
}

// ParseArgs returns the arguments that a model wrote for a tool call as JSON. Nothing is an empty object.
// What isn't JSON becomes a JSON string of it, so that a chat.ToolCall can always be encoded; FormatArgs turns it back.
func ParseArgs(text string) json.RawMessage {
	trimmed := strings.TrimSpace(text)
	switch {
	case trimmed == "":
		return json.RawMessage("{}")
	case trimmed[0] != '"' && json.Valid([]byte(text)):
		return json.RawMessage(text)
	}
	return json.RawMessage(jsonString(text))
}

// FormatArgs is the inverse of ParseArgs: the text as the model wrote it.
func FormatArgs(args json.RawMessage) string {
	var text string
	switch {
	case len(args) == 0:
		return "{}"
	case args[0] == '"' && json.Unmarshal(args, &text) == nil:
		return text
	}
	return string(args)
}

// encodeJSON writes text as it is, without the HTML escapes of json.Marshal.
func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// decodeJSON decodes an answer; the error says in a few words what is wrong with it.
func decodeJSON(body []byte, into any) error {
	if !utf8.Valid(body) {
		return errors.New("the answer is not UTF-8 text")
	}
	err := json.Unmarshal(body, into)
	if err == nil {
		return nil
	}
	if mistyped, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("the answer is not what the protocol says: %s is a %s", orElse(mistyped.Field, "it"),
			mistyped.Value)
	}
	return notJSON(body)
}

func notJSON(body []byte) error {
	start := oneLine(string(body[:min(len(body), 200)]))
	if start == "" {
		return errors.New("the answer is empty")
	}
	return fmt.Errorf("the answer is not JSON: %s", start)
}

// answerError is the error that a server wrote into an answer with a good status.
type answerError struct {
	Message string `json:"message"`
	// Code is a number in some dialects and a word in others.
	Code any `json:"code"`
}

func (a answerError) fault() *Error {
	message := clip(oneLine(a.Message))
	if status, ok := a.Code.(float64); ok && status >= 400 && status < 600 {
		return statusError(int(status), 0, message)
	}
	switch a.Code {
	case "rate_limit_exceeded":
		return &Error{Fault: RateLimited, Message: "asks for fewer requests: " + message}
	case "server_error":
		return &Error{Fault: Unavailable, Message: "failed to answer: " + message}
	}
	return &Error{Fault: Malformed, Message: "the answer holds an error instead of a reply: " + message}
}
