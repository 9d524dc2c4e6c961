package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// classifyFlags is what can be said on the command line of classify.
type classifyFlags struct {
	predictions string
	asked       classifyAsk
	format, out string
	labels      string
	classes     int
	least       classifyLeast
	// said are the thresholds that were given, each of which then counts for any kind of items.
	said []string
}

// classifyLeast is the least that each metric has to reach.
type classifyLeast struct{ macroF1, minClassF1, recall, accuracy float64 }

func (f *classifyFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.predictions, "predictions", "", "file of predictions, joined with the items by id")
	flags.StringVar(&f.asked.target, "target", "", "classify here: lexical, or PROVIDER:MODEL")
	flags.StringVar(&f.asked.model, "model", "", "classify here with a model, PROVIDER:MODEL or a name from rehearse.yaml; the same as --target")
	flags.StringVar(&f.asked.examples, "examples", "", "with --target or --model: labelled items to learn from, such as a training set")
	flags.StringVar(&f.asked.write, "write-predictions", "", "with --target or --model: write the predictions to this .jsonl file")
	flags.IntVarP(&f.asked.workers, "workers", "w", 8, "items classified at once")
	flags.StringVar(&f.format, "format", "text", "text, json or md")
	flags.StringVarP(&f.out, "out", "o", "", "also write the reports and a row per item in this folder")
	flags.StringVar(&f.labels, "labels", "union", "labels whose mean F1 decides: union (true or predicted) or true")
	flags.IntVar(&f.classes, "classes", 20, "how many classes and confusions text and md show, the worst first; 0 shows all")
	flags.Float64Var(&f.least.macroF1, "macro-f1", 0.80, "least macro F1")
	flags.Float64Var(&f.least.minClassF1, "min-class-f1", 0.60, "least F1 of any class that occurs in the items")
	flags.Float64Var(&f.least.recall, "recall", 0.90, "for lists of labels, such as skills: least share of the true labels that are found")
	flags.Float64Var(&f.least.accuracy, "accuracy", 0, "least accuracy (default: none)")
}

func (f *classifyFlags) check() error {
	sources := 0
	for _, s := range []string{f.predictions, f.asked.target, f.asked.model} {
		if s != "" {
			sources++
		}
	}
	switch {
	case sources == 0:
		return usage("say where the predictions come from: --predictions FILE, --target lexical, or --model PROVIDER:MODEL")
	case sources > 1:
		return usage("--predictions, --target and --model exclude each other: give one of them")
	case f.predictions != "" && cmp.Or(f.asked.examples, f.asked.write) != "":
		return usage("--examples and --write-predictions are for classifying here: they have no effect with --predictions")
	case !slices.Contains([]string{"text", "json", "md"}, f.format):
		return usage("unknown format %q: use text, json or md", f.format)
	case f.labels != "union" && f.labels != "true":
		return usage("unknown --labels %q: use union or true", f.labels)
	case f.classes < 0:
		return usage("--classes cannot be negative; 0 shows all")
	case f.asked.workers < 1 || f.asked.workers > 10_000:
		return usage("--workers %d is out of range: use 1 to 10000", f.asked.workers)
	case strings.HasSuffix(f.asked.write, ".gz") || f.asked.write != "" && !strings.HasSuffix(f.asked.write, ".jsonl"):
		return usage("--write-predictions writes JSON lines: name a file that ends in .jsonl")
	}
	for name, least := range map[string]float64{
		"macro-f1": f.least.macroF1, "min-class-f1": f.least.minClassF1, "recall": f.least.recall, "accuracy": f.least.accuracy,
	} {
		if !(least >= 0 && least <= 1) { // also what is no number
			return usage("--%s %g is out of range: use a number between 0 and 1", name, least)
		}
	}
	return nil
}
