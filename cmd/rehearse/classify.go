package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"rehearse/internal/dataset"
)

func newClassify(env *Env) *cobra.Command {
	f := &classifyFlags{}
	c := &cobra.Command{
		Use:   "classify ITEMS",
		Short: "Score a classifier against labelled items",
		Long: `Score a classifier against labelled items: accuracy with its interval, precision, recall and F1 of each class, their means, and what is taken
for what. The predictions come from a file, or are made here by a model.

ITEMS is a file (.jsonl, .json, .csv, also .gz) of records {"id", "input", "expected_output", "metadata"}: the input is a text or
{"message", "history"}, the expected output a label, {"intent": label}, or a list of labels where several can be right at once.
Predictions are records {"id", "output"}: a label, {"intent", "confidence"}, a list of labels, or null where there was no answer.

Items with one label pass by --macro-f1 and --min-class-f1, items with lists by --recall; any threshold that is given counts.

Exit codes: 0 passed, 1 a threshold was missed, 2 wrong usage or invalid files, 3 a model could not be asked, 130 interrupted.`,
		Example: `  rehearse classify items.jsonl --predictions predictions.jsonl
  rehearse classify items.jsonl.gz --predictions predictions.jsonl.gz --format json
  rehearse classify items.jsonl --predictions predictions.csv --macro-f1 0.9 --out report/
  rehearse classify items.jsonl --target lexical --examples train.jsonl
  rehearse classify items.jsonl --model openai:gpt-5-mini --write-predictions predictions.jsonl`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("name one file of labelled items (see `%s --help`)", c.CommandPath())
			}
			c.Flags().Visit(func(flag *pflag.Flag) { f.said = append(f.said, flag.Name) })
			if err := f.check(); err != nil {
				return err
			}
			return f.run(c.Context(), env, args[0])
		},
	}
	f.register(c.Flags())
	return c
}

func (f *classifyFlags) run(ctx context.Context, env *Env, file string) error {
	set, predictions, err := f.read(file)
	if err == nil && f.predictions == "" {
		predictions, err = f.asked.predict(ctx, env, set)
	}
	if err != nil {
		return err
	}
	r := newClassification(set, predictions, f)
	if f.out != "" {
		if err := r.writeFolder(f.out, set, predictions); err != nil {
			return notRun(err)
		}
	}
	if err := r.write(env.Stdout, f.format); err != nil {
		return notRun(err)
	}
	if !r.Passed {
		return &exitError{code: exitFailed}
	}
	return nil
}

// read reads the items and, side by side, their predictions if they are in a file.
func (f *classifyFlags) read(file string) (set dataset.Set, joined []dataset.Prediction, err error) {
	var loaded dataset.Predictions
	var reading errgroup.Group
	if f.predictions != "" {
		reading.Go(func() (err error) {
			loaded, err = dataset.LoadPredictions(f.predictions)
			return err
		})
	}
	set, err = dataset.Load(file)
	// What is wrong with the items is told first, however the two happen to end.
	if second := reading.Wait(); err == nil {
		err = second
	}
	if err == nil && f.predictions != "" {
		joined, err = loaded.For(set)
	}
	if err != nil {
		return dataset.Set{}, nil, &exitError{exitUsage, err}
	}
	return set, joined, nil
}

// write renders the classification in one of the formats of --format.
func (r *classification) write(w io.Writer, format string) error {
	switch format {
	case "json":
		return writeJSON(w, r)
	case "md":
		return r.markdown(w)
	}
	return r.text(w)
}
