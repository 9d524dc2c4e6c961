package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"rehearse/internal/config"
	"rehearse/internal/dataset"
	"rehearse/internal/llm"
	"rehearse/internal/redact"
)

// classifyAsk classifies items with a model.
type classifyAsk struct {
	target, model, examples, write string
	workers                        int
}

// classifier predicts the labels of one item.
type classifier func(context.Context, *dataset.Item) (dataset.Prediction, error)

// predict classifies every item. What could be predicted is written also when some of it could not, since it may have cost something.
func (a *classifyAsk) predict(ctx context.Context, env *Env, set dataset.Set) ([]dataset.Prediction, error) {
	options, err := a.options(set)
	if err != nil {
		return nil, err
	}
	classify, err := a.open(env, set, options)
	if err != nil {
		return nil, err
	}
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
	predictions, err := a.all(working, set, classify)
	if a.write != "" {
		err = errors.Join(err, writeFile(a.write, func(w io.Writer) error { return writePredictions(w, predictions, set.Several) }))
	}
	select {
	case <-interrupted:
		return nil, &exitError{exitInterrupted, errors.New("interrupted before every item was classified")}
	default:
	}
	if err != nil {
		return nil, notRun(err)
	}
	return predictions, nil
}

// all asks for the items side by side and ends at the first that cannot be asked.
func (a *classifyAsk) all(ctx context.Context, set dataset.Set, classify classifier) ([]dataset.Prediction, error) {
	predictions := make([]dataset.Prediction, len(set.Items))
	working, asking := errgroup.WithContext(ctx)
	working.SetLimit(a.workers)
	for i := range set.Items {
		if asking.Err() != nil {
			break
		}
		working.Go(func() error {
			p, err := classify(asking, &set.Items[i])
			if err != nil {
				return fmt.Errorf("classify the item %q: %w", set.Items[i].ID, err)
			}
			p.ID = set.Items[i].ID
			predictions[i] = p
			return nil
		})
	}
	return predictions, cmp.Or(working.Wait(), ctx.Err())
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
			return nil, &exitError{exitUsage, err}
		}
		for i := range learnt.Items {
			for _, label := range learnt.Items[i].Labels {
				said[label] = append(said[label], learnt.Items[i].Message)
			}
		}
	}
	options := make([]llm.Option, 0, len(said))
	for _, label := range sortedNames(said) {
		options = append(options, llm.Option{ID: label, Label: inWords(label), Examples: said[label]})
	}
	return options, nil
}

// open opens the model that was named.
func (a *classifyAsk) open(env *Env, set dataset.Set, options []llm.Option) (classifier, error) {
	w := &wiring{env: env}
	if path := config.Find(filepath.Dir(set.File)); path != "" {
		var err error
		if w.config, err = config.Load(path); err != nil {
			return nil, &exitError{exitUsage, err}
		}
	}
	m, err := w.modelNamed(cmp.Or(a.model, a.target), "model", sortedNames(w.config.Models))
	if err != nil {
		return nil, err
	}
	if m.Provider == config.Lexical {
		return lexicalClassifier(options, set.Several), nil
	}
	model, err := llm.Open(m, llm.Options{Getenv: env.Getenv, Transport: llm.Transport(), ReadFile: os.ReadFile, Limits: llm.NewLimits()})
	if err != nil {
		return nil, modelError(err)
	}
	return modelClassifier(&discreet{model, redact.New(env.Environ)}, options, set.Several)
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
