package api

import (
	"bytes"
	"cmp"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// completion is a reply in the protocol's shape (https://platform.openai.com/docs/api-reference/chat/object), whole or
// as a chunk.
type completion struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage,omitempty"`
}

type choice struct {
	Index        int      `json:"index"`
	Message      *message `json:"message,omitempty"`
	Delta        *message `json:"delta,omitempty"`
	FinishReason *string  `json:"finish_reason"`
}

type message struct {
	Role      string        `json:"role,omitempty"`
	Content   *string       `json:"content,omitempty"`
	ToolCalls []messageCall `json:"tool_calls,omitempty"`
}

type messageCall struct {
	Index    *int   `json:"index,omitempty"`
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

func (s *openAI) completion(model string, reply chat.Reply) *completion {
	said := &message{Role: "assistant", Content: &reply.Text}
	finish := "stop"
	for _, c := range reply.ToolCalls {
		call := messageCall{ID: c.ID, Type: "function"}
		call.Function.Name, call.Function.Arguments = c.Name, llm.FormatArgs(c.Args)
		said.ToolCalls = append(said.ToolCalls, call)
		finish = "tool_calls"
	}
	finish = cmp.Or(reply.FinishReason, finish)
	u := reply.Usage
	return &completion{
		ID: "chatcmpl-" + strconv.FormatInt(s.count.Add(1), 10), Object: "chat.completion", Created: time.Now().Unix(),
		Model: model, Choices: []choice{{Message: said, FinishReason: &finish}},
		Usage: &usage{u.InputTokens, u.OutputTokens, u.Total()},
	}
}

// chunks cuts a completion into the chunks of a stream.
func chunks(whole *completion, withUsage bool) []*completion {
	said := whole.Choices[0].Message
	var list []*completion
	add := func(delta message, finish *string) {
		c := *whole
		c.Object, c.Usage, c.Choices = "chat.completion.chunk", nil, []choice{{Delta: &delta, FinishReason: finish}}
		list = append(list, &c)
	}
	empty := ""
	add(message{Role: said.Role, Content: &empty}, nil)
	for text := range pieces(*said.Content) {
		add(message{Content: &text}, nil)
	}
	for i, call := range said.ToolCalls {
		call.Index = &i
		add(message{ToolCalls: []messageCall{call}}, nil)
	}
	add(message{}, whole.Choices[0].FinishReason)
	if withUsage {
		c := *whole
		c.Object, c.Choices = "chat.completion.chunk", []choice{}
		list = append(list, &c)
	}
	return list
}

// pieces yields a text a few words at a time, so that a stream has several chunks.
func pieces(text string) func(yield func(string) bool) {
	const words = 4
	return func(yield func(string) bool) {
		start, n := 0, 0
		for i, r := range text {
			if r != ' ' {
				continue
			}
			if n++; n%words == 0 {
				if !yield(text[start : i+1]) {
					return
				}
				start = i + 1
			}
		}
		if start < len(text) {
			yield(text[start:])
		}
	}
}

// events returns a stream as its lines, one string for each event.
func events(whole *completion, withUsage bool) []string {
	var list []string
	for _, c := range chunks(whole, withUsage) {
		data, err := encode(c)
		if err != nil {
			continue // strings and numbers always encode
		}
		list = append(list, "data: "+string(bytes.TrimSuffix(data, []byte("\n")))+"\n\n")
	}
	return append(list, "data: [DONE]\n\n")
}

func stream(w http.ResponseWriter, whole *completion, withUsage bool) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	control := http.NewResponseController(w)
	for _, event := range events(whole, withUsage) {
		if _, err := w.Write([]byte(event)); err != nil {
			return
		}
		if control.Flush() != nil {
			return
		}
	}
}

// raw returns the whole body of an answer, as complete would write it.
func raw(whole *completion, streamed bool) (contentType, body string) {
	if streamed {
		return "text/event-stream", strings.Join(events(whole, false), "")
	}
	data, err := encode(whole)
	if err != nil {
		return "application/json", "{}"
	}
	return "application/json", string(data)
}
