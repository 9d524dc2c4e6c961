package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sync/errgroup"

	"rehearse/internal/config"
	"rehearse/internal/dataset"
	"rehearse/internal/llm"
	"rehearse/internal/result"
	"rehearse/internal/runlog"
	"rehearse/internal/setup"
	"rehearse/internal/source"
)

// classifyAsk classifies items with a node of a chatbot, with a model, or with any other target.
type classifyAsk struct {
	target, model, examples, write string
	workers                        int
	sites                          nodeSites
	setup                          *setup.Setup
	config                         config.File
	chosen                         chosenClassifier
}

// classifier predicts the labels of one item.
type classifier func(context.Context, *dataset.Item) (dataset.Prediction, error)

// predict classifies every item and calls done with the number of each that is. What could be predicted is written also when some of it could
// not, since it may have cost something.
func (a *classifyAsk) predict(ctx context.Context, env *Env, items *classified, done func(i int)) error {
	classify, release, err := a.open(ctx, env, items)
	if err != nil {
		return err
	}
	defer release()
	working, cancel := context.WithCancel(ctx)
	defer cancel()
	interrupted := make(chan struct{})
	go func() {
		select {
		case <-env.Signals:
			close(interrupted)
			cancel()
		case <-working.Done():
		}
	}()
	err = a.all(working, env, items, classify, done)
	if a.write != "" {
		written := runlog.WriteFile(a.write, func(w io.Writer) error { return writePredictions(w, items.predictions, items.set.Several) })
		err = errors.Join(err, written)
	}
	select {
	case <-interrupted:
		return &exitError{result.ExitInterrupted, errors.New("interrupted before every item was classified")}
	default:
	}
	return outcome(err)
}

// all asks for the items side by side and ends at the first that cannot be asked.
func (a *classifyAsk) all(ctx context.Context, env *Env, items *classified, classify classifier, done func(i int)) error {
	set := items.set
	items.predictions, items.times = make([]dataset.Prediction, len(set.Items)), make([]interval, len(set.Items))
	working, asking := errgroup.WithContext(ctx)
	working.SetLimit(a.workers)
	for i := range set.Items {
		if asking.Err() != nil {
			break
		}
		working.Go(func() error {
			began := env.Now()
			p, err := classify(asking, &set.Items[i])
			if err != nil {
				return fmt.Errorf("classify the item %q: %w", set.Items[i].ID, err)
			}
			p.ID = set.Items[i].ID
			items.predictions[i], items.times[i] = p, interval{began, env.Now()}
			done(i)
			return nil
		})
	}
	return cmp.Or(working.Wait(), ctx.Err())
}

// options returns the labels to choose from, those of the items and the examples, in order of name.
func (a *classifyAsk) options(set dataset.Set) ([]llm.Option, error) {
	said := map[string][]string{}
	for i := range set.Items {
		for _, label := range set.Items[i].Labels {
			said[label] = nil
		}
	}
	if a.examples != "" {
		learnt, err := dataset.Load(a.examples)
		if err != nil {
			return nil, outcome(source.AsInvalid(err))
		}
		for i := range learnt.Items {
			for _, label := range learnt.Items[i].Labels {
				said[label] = append(said[label], learnt.Items[i].Message)
			}
		}
	}
	options := make([]llm.Option, 0, len(said))
	for _, label := range setup.Names(said) {
		options = append(options, llm.Option{ID: label, Label: inWords(label), Examples: said[label]})
	}
	return options, nil
}

// open opens the classifier that was named; release lets go of it.
func (a *classifyAsk) open(ctx context.Context, env *Env, items *classified) (classify classifier, release func(), err error) {
	switch {
	case a.chosen.node != "":
		return a.openNode(ctx, env, items)
	case a.chosen.target != nil:
		return a.openTarget(ctx, env, items)
	}
	options, err := a.options(items.set)
	if err != nil {
		return nil, nil, err
	}
	m := *a.chosen.model
	if m.Provider == config.Lexical {
		return lexicalClassifier(options, items.set.Several), func() {}, nil
	}
	model, err := a.setup.OpenModel(m)
	if err != nil {
		return nil, nil, outcome(err)
	}
	classify, err = modelClassifier(model, options, items.set.Several)
	return classify, func() {}, err
}

// writePredictions writes the predictions that were made in the form that --predictions reads.
func writePredictions(w io.Writer, predictions []dataset.Prediction, several bool) error {
	for i := range predictions {
		p := &predictions[i]
		row := predictionRow{ID: p.ID, Confidence: p.Confidence}
		switch {
		case p.ID == "": // not made
			continue
		case p.Null:
		case several:
			row.Output = p.Labels
		default:
			row.Output = p.Labels[0]
		}
		if err := writeJSON(w, row); err != nil {
			return err
		}
	}
	return nil
}

type predictionRow struct {
	ID         string   `json:"id"`
	Output     any      `json:"output"`
	Confidence *float64 `json:"confidence,omitempty"`
}

// inside returns the model that --model puts into a chatbot or a flow; without --target it is the classifier itself.
func (a *classifyAsk) inside() string {
	if a.target == "" {
		return ""
	}
	return a.model
}
