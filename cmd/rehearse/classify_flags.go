package main

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"rehearse/internal/classify"
	"rehearse/internal/config"
	"rehearse/internal/report/classification"
)

// classifyFlags is what can be said on the command line of classify.
type classifyFlags struct {
	items, predictions string
	config             string
	asked              classify.Asked
	write              string
	format, log        string
	labels             string
	classes            int
	least              classifyLeast
	// run is what can be said of any run.
	run runFlags
	// said are the flags that were given; of those a threshold then counts for any kind of items.
	said []string
}

// classifyLeast is the least that each metric has to reach.
type classifyLeast struct{ macroF1, minClassF1, recall, accuracy float64 }

// view says what decides, and how much is shown.
func (f *classifyFlags) view() classification.Options {
	least := func(flag string, value float64) classification.Least {
		return classification.Least{Value: value, Always: slices.Contains(f.said, flag)}
	}
	return classification.Options{
		TrueLabels: f.labels == "true", Rows: f.classes,
		Thresholds: classification.Thresholds{
			MacroF1: least("macro-f1", f.least.macroF1), MinClassF1: least("min-class-f1", f.least.minClassF1),
			Recall: least("recall", f.least.recall), Accuracy: least("accuracy", f.least.accuracy),
		},
	}
}

func (f *classifyFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.items, "items", "", "with a classifier of the chatbot: other items than the dataset of its name, a file or a dataset")
	flags.StringVar(&f.predictions, "predictions", "", "file of predictions, joined with the items by id")
	flags.StringVar(&f.asked.Target, "target", "",
		"classify here: intent-classifier, skill-selector, a name from rehearse.yaml, lexical, PROVIDER:MODEL, flow:FILE or site:FOLDER#NAME")
	flags.StringVar(&f.asked.Model, "model", "",
		"classify here with a model, PROVIDER:MODEL or a name from rehearse.yaml; with --target, the model inside a chatbot or a flow")
	flags.StringVar(&f.asked.Examples, "examples", "", "with lexical or a model: labelled items to learn from, such as a training set")
	flags.StringVar(&f.write, "write-predictions", "", "write the predictions that are made here to this .jsonl file")
	flags.IntVarP(&f.run.workers, "workers", "w", 8, "items classified at once")
	flags.StringVar(&f.asked.Sites, "sites", "", "of a chatbot's node: folder of sites, or the file of one (default: the sitebot targets of rehearse.yaml)")
	flags.StringVar(&f.asked.Site, "site", "", siteUsage)
	flags.StringVar(&f.asked.Prompts, "prompts", "", "folder of prompts that the sites name (default: prompts beside the sites)")
	flags.BoolVar(&f.asked.LocalPrompt, "local-prompt", false, "prompts from files and built in only, not from Langfuse")
	flags.StringVar(&f.config, "config", "", "configuration file (default: the nearest rehearse.yaml at or above the items, or the sites)")
	flags.StringVar(&f.log, "log", logAuto, "log to Langfuse as a dataset run: auto (items from there), langfuse (always) or none")
	flags.StringVar(&f.format, "format", "text", "text, json or md")
	flags.StringVarP(&f.run.out, "out", "o", "", "folder for the results and reports (default .rehearse/runs/ID)")
	flags.StringVar(&f.run.resume, "resume", "", "go on with a run: its id, folder, or latest; say the rest as before")
	flags.IntVar(&f.run.trials, "trials", 0, "classify every item so many times; what is predicted most often counts")
	flags.StringVar(&f.run.record, "record", "", "record every exchange with models, embedders and targets in this file")
	flags.StringVar(&f.run.replay, "replay", "", "answer every request from this recording; ask nobody")
	flags.DurationVar(&f.run.timeout, "timeout", 0, "longest wait for one reply (default 2m)")
	flags.IntVar(&f.run.retries, "retries", 0, "how often a failed call is tried again (default 2)")
	flags.DurationVar(&f.run.grace, "grace", 15*time.Second, "after Ctrl-C, how long items in flight may take to finish")
	flags.StringVar(&f.labels, "labels", "union", "labels whose mean F1 decides: union (true or predicted) or true")
	flags.IntVar(&f.classes, "classes", 20, "how many classes and confusions text and md show, the worst first; 0 shows all")
	flags.Float64Var(&f.least.macroF1, "macro-f1", config.DefaultMacroF1, "least macro F1")
	flags.Float64Var(&f.least.minClassF1, "min-class-f1", config.DefaultMinClassF1, "least F1 of any class that occurs in the items")
	flags.Float64Var(&f.least.recall, "recall", config.DefaultSkillRecall, "for lists of labels, such as skills: least share of the true labels that are found")
	flags.Float64Var(&f.least.accuracy, "accuracy", 0, "least accuracy (default: none)")
}

// check refuses what cannot be meant. A node as the argument becomes the target, unless the predictions come from elsewhere.
func (f *classifyFlags) check(name string) error {
	if name == allTargets || name == e2eAPI {
		if err := f.checkAlone(name); err != nil {
			return err
		}
	}
	if slices.Contains(config.ClassifierNodes(), name) && f.predictions == "" && f.asked.Target == "" {
		f.asked.Target = name
	}
	if err := f.checkSources(name); err != nil {
		return err
	}
	switch {
	case !slices.Contains([]string{"text", "json", "md"}, f.format):
		return usage("unknown format %q: use text, json or md", f.format)
	case !slices.Contains([]string{logAuto, logLangfuse, logNone}, f.log):
		return usage("unknown --log %q: use auto, langfuse or none", f.log)
	case f.labels != "union" && f.labels != "true":
		return usage("unknown --labels %q: use union or true", f.labels)
	case f.classes < 0:
		return usage("--classes cannot be negative; 0 shows all")
	case f.run.workers < 1 || f.run.workers > 10_000:
		return usage("--workers %d is out of range: use 1 to 10000", f.run.workers)
	case strings.HasSuffix(f.write, ".gz") || f.write != "" && !strings.HasSuffix(f.write, ".jsonl"):
		return usage("--write-predictions writes JSON lines: name a file that ends in .jsonl")
	}
	if f.run.record != "" && f.run.replay != "" {
		return usage("--record and --replay exclude each other: record a run first, then replay it")
	}
	if f.run.resume != "" && f.run.out != "" {
		return usage("--resume goes on in the folder of the run: leave out --out")
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

// checkAlone refuses what is for one classifier where several are evaluated, or none.
func (f *classifyFlags) checkAlone(name string) error {
	for _, flag := range []string{"items", "predictions", "target", "examples", "write-predictions"} {
		if slices.Contains(f.said, flag) && (name == allTargets || flag != "items") {
			return usage("--%s is for one classifier: name intent-classifier, skill-selector or a file of items instead of %s", flag, name)
		}
	}
	if name == e2eAPI && f.format != "text" {
		return usage("the report of %s is text: leave out --format, and give --out for its files", name)
	}
	return nil
}

// itemsOf returns the items that the argument stands for: those of --items, the dataset of a word, or the argument itself.
func (f *classifyFlags) itemsOf(name string) string {
	if name == e2eAPI {
		name = e2eDataset
	}
	return cmp.Or(f.items, name)
}

// checkSources refuses predictions from several places, or from none.
func (f *classifyFlags) checkSources(name string) error {
	a := &f.asked
	word := slices.Contains([]string{intentClassifier, skillSelector, e2eAPI, allTargets}, name)
	switch {
	case f.predictions != "" && cmp.Or(a.Target, a.Model) != "":
		return usage("--predictions and --target or --model exclude each other: give one of them")
	case !word && cmp.Or(f.predictions, a.Target, a.Model) == "":
		return usage("say where the predictions come from: --predictions FILE, --target NAME, or --model PROVIDER:MODEL")
	case !word && f.items != "":
		return usage("--items is for a classifier of the chatbot: %s names the items already", name)
	case f.predictions != "" && cmp.Or(a.Examples, f.write) != "":
		return usage("--examples and --write-predictions are for classifying here: they have no effect with --predictions")
	case f.predictions != "" && (cmp.Or(a.Sites, a.Site, a.Prompts) != "" || a.LocalPrompt):
		return usage("--sites, --site, --prompts and --local-prompt are for classifying here: they have no effect with --predictions")
	}
	return nil
}
