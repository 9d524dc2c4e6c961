package sitebot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"rehearse/graph"
	"rehearse/internal/chat"
	"rehearse/internal/llm"
	"rehearse/internal/sitebot/prompt"
	"rehearse/internal/text"
)

// conversation returns the last messages and, behind them, the visitor's new one. A limit of 0 means only the new one.
func conversation(s *State, limit int) []chat.Message {
	earlier := s.Messages[max(0, len(s.Messages)-limit):]
	messages := make([]chat.Message, 0, len(earlier)+2)
	for _, m := range earlier {
		messages = append(messages, chat.Say(m.Role, m.Content))
	}
	return append(messages, chat.Say(chat.User, s.Input))
}

// all is the limit of a conversation that is shown whole, within reason.
const all = 200

// ask has a node's model answer with JSON, and reads it into reply. A reply that is not what was asked for is the node's failure.
func (b *Bot) ask(ctx context.Context, model llm.Model, node string, vars prompt.Vars, messages []chat.Message, reply any) error {
	t := turnOf(ctx)
	vars.Language = t.request.Language
	// A task that was cancelled in the meantime asks all the same: the model refuses it at once, which counts and is recorded.
	system, err := b.Prompts.Render(context.WithoutCancel(ctx), t.Site, node, vars)
	if err != nil {
		return err
	}
	r := llm.Request{Messages: append([]chat.Message{chat.Say(chat.System, system)}, messages...), Node: node}
	if schema, ok := b.Prompts.Schema(t.Site, node, vars.Field); ok {
		r.Schema = &llm.Schema{Name: node, JSON: schema}
	}
	answer, err := model.Generate(ctx, r)
	t.meter.count(answer, err)
	t.meter.guess(r, answer.Text, answer, err)
	if err != nil {
		return err
	}
	return decode(answer.Text, reply)
}

var errNoJSON = errors.New("the model's answer is not the JSON that was asked for")

// decode reads the JSON object of a reply; models like to put a fence or a sentence around it.
func decode(words string, into any) error {
	object, ok := text.JSONIn(words)
	if !ok {
		return errNoJSON
	}
	if err := json.Unmarshal(object, into); err != nil {
		return fmt.Errorf("%w: %w", errNoJSON, err)
	}
	return nil
}

// looseText is a text in a reply. Models write figures without quotes, and null for nothing.
type looseText string

// UnmarshalJSON reads a text, a number or a truth value as text, and null as none.
func (t *looseText) UnmarshalJSON(data []byte) error {
	switch data[0] {
	case '"':
		return json.Unmarshal(data, (*string)(t))
	case '{', '[':
		return errors.New("a text was asked for")
	case 'n':
		*t = ""
	default:
		*t = looseText(data)
	}
	return nil
}

// say streams a node's answer to the visitor and returns it whole.
func (b *Bot) say(ctx context.Context, model llm.Model, node string, s *State, vars prompt.Vars, out graph.TokenSink) (string, error) {
	t := turnOf(ctx)
	vars.Language = t.request.Language
	system, err := b.Prompts.Render(ctx, t.Site, node, vars)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := llm.Request{Messages: append([]chat.Message{chat.Say(chat.System, system)}, conversation(s, all)...), Node: node}
	var said strings.Builder
	reply, err := llm.Stream(ctx, model, r, func(token string) {
		said.WriteString(token)
		if err := out(ctx, token); err != nil {
			cancel(err) // the visitor has left
		}
	})
	t.meter.count(reply, err)
	t.meter.guess(r, said.String(), reply, err)
	switch {
	case context.Cause(ctx) != nil:
		return "", context.Cause(ctx)
	case err != nil:
		return "", err
	case strings.TrimSpace(reply.Text) == "":
		return "", errors.New("the model's answer is empty")
	}
	return said.String(), nil
}
