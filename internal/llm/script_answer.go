package llm

import (
	"fmt"
	"time"

	"rehearse/internal/chat"
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

func (a *answer) render(v *scene) (chat.Reply, error) {
	var reply chat.Reply
	switch {
	case a.verdicts != nil:
		answer, err := judge(a.verdicts, v.request)
		if err != nil {
			return chat.Reply{}, err
		}
		reply.Text = string(answer)
	case a.json != nil:
		reply.Text = string(a.json.fill(v))
	case a.reply != nil:
		reply.Text = a.reply.fill(v)
	}
	words := countWords(reply.Text)
	for i, c := range a.calls {
		// Unique within a conversation, and the same whenever it is held again.
		call := chat.ToolCall{ID: fmt.Sprintf("call_%d_%d", v.messages, i+1), Name: c.name, Args: c.args.fill(v)}
		words += 1 + countWords(string(call.Args))
		reply.ToolCalls = append(reply.ToolCalls, call)
	}
	reply.Usage.OutputTokens = words
	return reply, nil
}
