package llm

import (
	"fmt"
	"strconv"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

// answer is what a rule does: one of reply, calls, json and verdicts (reply and calls may come together), or a fault.
type answer struct {
	line     int
	delay    time.Duration
	fault    *fault
	reply    *text
	calls    []scriptedCall
	json     *tree
	verdicts []verdict
}

type scriptedCall struct {
	name string
	args tree
}

// says reports whether there is something to answer besides a fault.
func (a *answer) says() bool {
	return a.reply != nil || a.calls != nil || a.json != nil || a.verdicts != nil
}

// render returns the reply; the error has no model yet.
func (a *answer) render(v *scene) (chat.Reply, *Error) {
	var reply chat.Reply
	switch {
	case a.verdicts != nil:
		answer, err := judge(a.verdicts, v.request.Messages)
		if err != nil {
			return chat.Reply{}, &Error{Message: err.Error(), Hint: "`verdicts` answer a judge's request; narrow `when`"}
		}
		reply.Text = string(answer)
	case a.json != nil:
		reply.Text = string(a.json.fill(v))
	case a.reply != nil:
		reply.Text = a.reply.fill(v)
	}
	words := countWords(reply.Text)
	for i, c := range a.calls {
		call := chat.ToolCall{ID: callID(len(v.request.Messages), i+1), Name: c.name, Args: c.args.fill(v)}
		words += 1 + countWords(string(call.Args))
		reply.ToolCalls = append(reply.ToolCalls, call)
	}
	if v.missing != "" {
		return chat.Reply{}, &Error{
			Message: fmt.Sprintf("no offered tool has a `const` for its parameter %q", v.missing),
			Hint:    "narrow `when` to requests that offer it, or write the value instead of ${" + constantPrefix + v.missing + "}",
		}
	}
	reply.Usage.OutputTokens = words
	return reply, nil
}

// callID is unique within a conversation, and the same whenever it is held again.
func callID(messages, number int) string {
	return "call_" + strconv.Itoa(messages) + "_" + strconv.Itoa(number)
}
