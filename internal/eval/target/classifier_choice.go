package target

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// Choice is what a model chooses labels from. Its labels, with examples of messages that have them, may have none of
// these.
type Choice struct {
	Examples map[string][]string
	// Several is true where a message has any number of labels.
	Several bool
}

// Labels returns the labels in order of name.
func (c Choice) Labels() []string { return slices.Sorted(maps.Keys(c.Examples)) }

func (c Choice) options() []llm.Option {
	options := make([]llm.Option, 0, len(c.Examples))
	for _, label := range c.Labels() {
		options = append(options, llm.Option{ID: label, Label: inWords(label), Examples: c.Examples[label]})
	}
	return options
}

// OpenChoice opens a model that chooses labels, as a target: the lexical one by the words of the examples, any other by
// being asked for JSON. The text and the State of a reply are those of a Classifier.
func OpenChoice(m config.Model, c Choice, p Parts) (runner.Target, error) {
	if m.Provider == config.Lexical {
		return lexicalChoice(c), nil
	}
	model, err := p.Model(m)
	if err != nil {
		return nil, err
	}
	return modelChoice(model, c)
}

// Predictions returns a target that answers each test with what was predicted of it, by the id of the test. A test that
// is not there has no answer. No time passes: a prediction costs nothing.
func Predictions(predicted map[string]Classification) runner.Target {
	return labels(func(_ context.Context, a classifierRequest) (Classification, chat.Reply, error) {
		return predicted[a.test], chat.Reply{}, nil
	})
}

// UnlessBlank returns a target that is not asked about a blank message: its reply is empty.
func UnlessBlank(t runner.Target) runner.Target { return unlessBlank{t} }

type unlessBlank struct{ runner.Target }

// Open implements runner.Target.
func (u unlessBlank) Open(ctx context.Context, o runner.Opening) (runner.Session, error) {
	if len(o.Test.Turns) == 1 && strings.TrimSpace(o.Test.Turns[0].Input.String()) == "" {
		return Predictions(nil).Open(ctx, o)
	}
	return u.Target.Open(ctx, o)
}
