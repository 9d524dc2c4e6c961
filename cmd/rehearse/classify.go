package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rehearse/internal/classify"
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
			f.run.noteChanged(c.Flags())
			f.run.commandLine = commandLine(c, args)
			f.run.commandLine[0] = "classify"
			return f.evaluate(c.Context(), env, args[0])
		},
	}
	f.register(c.Flags())
	return c
}

// What the argument may be besides items: nodes of the chatbot, and the evaluations that they belong to (S3.34, S3.35).
const (
	intentClassifier = classify.IntentClassifier
	skillSelector    = classify.SkillSelector
	e2eAPI           = "e2e-api"
	allTargets       = "all"
	e2eDataset       = "main-dataset"
)

// evaluate evaluates what the argument names.
func (f *classifyFlags) evaluate(ctx context.Context, env *Env, name string) error {
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
