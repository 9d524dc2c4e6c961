package llm

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

// maxCalls is how many tools one reply may call, as OpenAI has it.
const maxCalls = 128

// assembly puts a reply together from the chunks of a stream.
type assembly struct {
	token   func(string)
	dialect dialect
	// thought and details are what the model thought, in the two forms that have to come back.
	text, refusal, thought strings.Builder
	details                []json.RawMessage
	calls                  []*partialCall
	usage                  *answerUsage
	model                  answeredBy
	// spoke says that there was content, be it empty; finish is the server's word for why the model stopped.
	spoke  bool
	finish string
	// finished says that the reply has ended, done that the stream has: some servers leave the second out.
	finished, done bool
}

// partialCall is a tool call whose arguments are still coming.
type partialCall struct {
	index    int
	id, name string
	args     strings.Builder
}

func (a *assembly) complete() bool { return a.finished || a.done }

// add takes the data of one event.
func (a *assembly) add(data []byte) error {
	if a.done {
		return nil
	}
	if string(data) == "[DONE]" {
		a.done = true
		return nil
	}
	var c chunk
	if err := decodeJSON(data, &c); err != nil {
		return err
	}
	if c.Error != nil {
		return c.Error.fault()
	}
	if c.Model != "" {
		a.model = c.Model
	}
	if c.Usage != nil {
		a.usage = c.Usage
	}
	for i := range c.Choices {
		choice := &c.Choices[i]
		if choice.Index != 0 { // nobody asked for a second reply
			continue
		}
		text, err := answerText(choice.Delta.Content)
		if err != nil {
			return err
		}
		a.spoke = a.spoke || choice.Delta.Content != nil
		if text != "" {
			a.text.WriteString(text)
			a.token(text)
		}
		a.refusal.WriteString(choice.Delta.Refusal)
		a.thought.WriteString(choice.Delta.ReasoningContent)
		a.details = append(a.details, choice.Delta.ReasoningDetails...)
		for d := range choice.Delta.ToolCalls {
			if err := a.addCall(&choice.Delta.ToolCalls[d]); err != nil {
				return err
			}
		}
		a.finished = a.finished || choice.Finish != ""
		a.finish = orElse(a.finish, choice.Finish)
	}
	return nil
}

func (a *assembly) addCall(d *callDelta) error {
	call := a.find(d)
	if call == nil {
		if len(a.calls) == maxCalls {
			return fmt.Errorf("the answer is not what the protocol says: it calls more than %d tools", maxCalls)
		}
		call = &partialCall{index: len(a.calls)}
		if d.Index != nil {
			call.index = *d.Index
		}
		a.calls = append(a.calls, call)
	}
	call.id, call.name = orElse(call.id, d.ID), orElse(call.name, d.Function.Name)
	call.args.WriteString(d.text())
	return nil
}

// find returns the call that a piece belongs to, nil for a new one. Without an index, a piece with an ID begins a call.
func (a *assembly) find(d *callDelta) *partialCall {
	for _, call := range a.calls {
		if d.Index != nil && call.index == *d.Index {
			return call
		}
	}
	if d.Index == nil && d.ID == "" && len(a.calls) > 0 {
		return a.calls[len(a.calls)-1]
	}
	return nil
}

// reply returns the whole. A refusal is given out as text only now, when it is clear that there is nothing else.
func (a *assembly) reply() (chat.Reply, error) {
	if !a.spoke && len(a.calls) == 0 && a.refusal.Len() == 0 {
		return chat.Reply{}, errNoContent(a.finish)
	}
	reply := chat.Reply{
		Text: a.text.String(), Usage: a.usage.count(), FinishReason: chat.FinishReason(a.finish),
		Model: string(a.model),
	}
	for _, call := range a.calls {
		reply.ToolCalls = append(reply.ToolCalls, chat.ToolCall{
			ID: call.id, Name: call.name, Args: ParseArgs(call.args.String()),
		})
	}
	if len(reply.ToolCalls) > 0 {
		reply.Native = a.thoughts()
	}
	if strings.TrimSpace(reply.Text) == "" && len(reply.ToolCalls) == 0 && a.refusal.Len() > 0 {
		reply.Text = a.refusal.String()
		a.token(reply.Text)
	}
	return unlessWithheld(reply, a.finish)
}

// thoughts returns what has to come back with a message that calls tools.
func (a *assembly) thoughts() chat.Native {
	var value any
	switch {
	case a.dialect.thoughts == "reasoning_content" && a.thought.Len() > 0:
		value = a.thought.String()
	case a.dialect.thoughts == "reasoning_details" && len(a.details) > 0:
		value = a.details
	default:
		return chat.Native{}
	}
	data, err := json.Marshal(value)
	if err != nil { // texts, and JSON that was read, can be written
		return chat.Native{}
	}
	return chat.Native{Format: a.dialect.thoughts, Value: data}
}
