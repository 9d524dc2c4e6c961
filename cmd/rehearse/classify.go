package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rehearse/internal/dataset"
	"rehearse/internal/langfuse/experiment"
	"rehearse/internal/report/classification"
	"rehearse/internal/result"
)

func newClassify(env *Env) *cobra.Command {
	f := &classifyFlags{}
	c := &cobra.Command{
		Use:   "classify intent-classifier|skill-selector|e2e-api|all|ITEMS",
		Short: "Score a classifier against labelled items",
		Long: `Score a classifier against labelled items: accuracy with its interval, precision, recall and F1 of each class, their means, and what is taken
for what. The predictions come from a file, or are made here: by a node of a website's chatbot, or by a model.

ITEMS is a file (.jsonl, .json, .csv, also .gz) or the name of a dataset in Langfuse or a store (store:NAME), of records {"id", "input", "expected_output", "metadata"}:
the input is a text or {"message", "history"}, the expected output a label, {"intent": label}, or a list of labels where several can be right at
once. Predictions are records {"id", "output"}: a label, {"intent", "confidence"}, a list of labels, or null where there was no answer.

intent-classifier and skill-selector are nodes of the chatbot and the datasets of those names; --items names other items, --target another
classifier of them. e2e-api is the evaluation of answers on the dataset main-dataset, all is the three, one after the other.

Items with one label pass by --macro-f1 and --min-class-f1, items with lists by --recall; any threshold that is given counts. Without, they are
those of thresholds: in rehearse.yaml, or the defaults. Results on items from Langfuse are logged there as a dataset run (--log).

Exit codes: 0 passed, 1 a threshold was missed, 2 wrong usage or invalid files, 3 a model could not be asked, 130 interrupted.`,
		Example: `  rehearse classify intent-classifier --sites sites/ --model openai:gpt-5-mini
  rehearse classify skill-selector --items skills.jsonl --sites sites/ --site acme.example
  rehearse classify all --sites sites/ --out report/
  rehearse classify items.jsonl --predictions predictions.jsonl
  rehearse classify items.jsonl.gz --predictions predictions.jsonl.gz --format json
  rehearse classify items.jsonl --predictions predictions.csv --macro-f1 0.9 --out report/
  rehearse classify items.jsonl --target lexical --examples train.jsonl
  rehearse classify items.jsonl --model openai:gpt-5-mini --write-predictions predictions.jsonl`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("name one file of labelled items, or a classifier of the chatbot (see `%s --help`)", c.CommandPath())
			}
			c.Flags().Visit(func(flag *pflag.Flag) { f.said = append(f.said, flag.Name) })
			return f.run(c.Context(), env, args[0])
		},
	}
	f.register(c.Flags())
	return c
}

// What the argument may be besides items: nodes of the chatbot, and the evaluations that they belong to (S3.34, S3.35).
const (
	intentClassifier = "intent-classifier"
	skillSelector    = "skill-selector"
	e2eAPI           = "e2e-api"
	allTargets       = "all"
	e2eDataset       = "main-dataset"
)

// run evaluates what the argument names.
func (f *classifyFlags) run(ctx context.Context, env *Env, name string) error {
	if err := f.check(name); err != nil {
		return err
	}
	switch name {
	case allTargets:
		return f.runAll(ctx, env)
	case e2eAPI:
		return f.runE2E(ctx, env)
	}
	r, err := f.classify(ctx, env, name, func(r *classification.Report) error { return writeClassification(env.Stdout, r, f.format) })
	if err == nil && !r.Passed {
		return &exitError{code: result.ExitFailed}
	}
	return err
}

// classify scores one classifier, shows its report, and writes and logs what else is wanted.
func (f *classifyFlags) classify(ctx context.Context, env *Env, name string, show func(*classification.Report) error) (*classification.Report, error) {
	items, err := f.read(ctx, env, name)
	if f.asked.setup != nil {
		defer env.closed(f.asked.setup)
	}
	if err != nil {
		return nil, err
	}
	log, err := openLangfuseLog(env, f.log, items.remote)
	if err != nil {
		return nil, err
	}
	live := experiment.Begin(log, items.loggedRun(env))
	defer interruptibly(ctx, env, live.BreakOff) // unless it is finished
	if f.predictions == "" {
		if err := f.asked.predict(ctx, env, items, func(i int) { live.Add(items.logged(env, i)) }); err != nil {
			return nil, err
		}
	}
	r := classification.New(items.set, items.predictions, f.options())
	if f.out != "" {
		if err := r.Write(f.out, items.set, items.predictions); err != nil {
			return nil, outcome(err)
		}
		fmt.Fprintf(env.Stderr, "report: %s\n", filepath.Join(f.out, classification.Page))
	}
	if err := show(r); err != nil {
		return nil, outcome(err)
	}
	if live != nil {
		interruptibly(ctx, env, func(ctx context.Context) { live.Finish(ctx, items.allLogged(env), runScores(r)) })
	}
	return r, nil
}

// writeClassification renders a report in one of the formats of --format.
func writeClassification(w io.Writer, r *classification.Report, format string) error {
	switch format {
	case "json":
		return r.JSON(w)
	case "md":
		return r.Markdown(w)
	}
	return r.Text(w)
}

// classified are items with what was predicted of them.
type classified struct {
	set dataset.Set
	// dataset is their name in Langfuse, or the one that they would have there; remote is true when they come from there.
	dataset string
	remote  bool
	// target is the classifier in words.
	target string
	// predictions and times are in the order of the items; without a time they come from a file.
	predictions []dataset.Prediction
	times       []interval
}
