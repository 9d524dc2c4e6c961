package sitebot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/prompt"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// ask has a node's model answer with JSON, and reads it into reply. A reply that is not what was asked for is the
// node's failure.
func (b *Bot) ask(ctx context.Context, model llm.Model, node string, vars prompt.Vars, c shown, reply any) error {
	t := turnOf(ctx)
	// A task that was cancelled in the meantime asks all the same: the model refuses it at once, which counts and is
	// recorded.
	r, _, err := b.request(context.WithoutCancel(ctx), node, vars, c)
	if err != nil {
		return err
	}
	if schema, ok := b.Prompts.Schema(t.Site, node, vars.Field); ok {
		r.Schema = &llm.Schema{Name: node, JSON: schema}
	}
	answer, err := t.generate(ctx, model, r)
	if err != nil {
		return err
	}
	return decode(answer.Text, reply)
}

// generate asks a model and counts what it took.
func (t *turn) generate(ctx context.Context, model llm.Model, r llm.Request) (chat.Reply, error) {
	answer, err := model.Generate(ctx, r)
	t.meter.count(answer, err)
	t.meter.guess(r, answer.Text, answer, err)
	return answer, err
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

// say streams a node's answer to the visitor and returns it whole. Fallen is how many turns the model was not shown.
func (b *Bot) say(ctx context.Context, model llm.Model, node string, s *State, vars prompt.Vars,
	out graph.TokenSink) (text string, fallen int, err error) {
	t := turnOf(ctx)
	r, fallen, err := b.request(ctx, node, vars, conversation(s, all))
	if err != nil {
		return "", 0, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
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
		return "", 0, context.Cause(ctx)
	case err != nil:
		return "", 0, err
	case strings.TrimSpace(reply.Text) == "":
		return "", 0, errors.New("the model's answer is empty")
	}
	return said.String(), fallen, nil
}
