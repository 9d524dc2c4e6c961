package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rehearse-dev/rehearse/cmd/rehearse/commandline"
	"github.com/rehearse-dev/rehearse/internal/app/classify"
	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/data/dataset"
	"github.com/rehearse-dev/rehearse/internal/model/langfuse/experiment"
	"github.com/rehearse-dev/rehearse/internal/report/ci"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// classifyFlags is what can be said on the command line of classify.
type classifyFlags struct {
	classify.Request
	format, log string
	ci          string
	// trace, agent and verbose are flags of e2e, so that one command line fits all evaluations.
	trace, agent string
	verbose      bool
	// run is what can be said of any run.
	run runFlags
}

func newClassify(env *Env) *cobra.Command {
	f := &classifyFlags{}
	c := &cobra.Command{
		Use:   "classify intent-classifier|skill-selector|ITEMS",
		Short: "Score a classifier against labelled items",
		Long: `Score a classifier against labelled items: accuracy with its interval, precision, recall and F1 of each class, their means, and what is taken
for what. The predictions come from a file, or are made here: by a node of a website's chatbot, or by a model.

ITEMS is a file (.jsonl, .json, .csv, also .gz) or the name of a dataset in Langfuse or a store (store:NAME), of records {"id", "input", "expected_output", "metadata"}:
the input is a text or {"message", "history"}, the expected output a label, {"intent": label}, or a list of labels where several can be right at
once. Predictions are records {"id", "output"}: a label, {"intent", "confidence"}, a list of labels, or null where there was no answer.

intent-classifier and skill-selector are nodes of the chatbot and the datasets of those names; --items names other items, --target another
classifier of them.

Items with one label pass by --macro-f1 and --min-class-f1, items with lists by --recall; any threshold that is given counts. Without, they are
those of thresholds: in rehearse.yaml, or the defaults. Results on items from Langfuse are logged there as a dataset run (--log).

With --server, a server holds the run: the items are sent there with every file that the target names, keys and other secrets are not. Output, reports
and exit code are those of a local run. Ctrl-C cancels it.

Exit codes: 0 passed, 1 a threshold was missed, 2 wrong usage or invalid files, 3 a model could not be asked, 130 interrupted.`,
		Example: `  rehearse classify intent-classifier --sites sites/ --model openai:gpt-5-mini
  rehearse classify skill-selector --items skills.jsonl --sites sites/ --site acme.example
  rehearse classify items.jsonl --predictions predictions.jsonl
  rehearse classify items.jsonl.gz --predictions predictions.jsonl.gz --format json
  rehearse classify items.jsonl --predictions predictions.csv --macro-f1 0.9 --out report/
  rehearse classify items.jsonl --target lexical --examples train.jsonl
  rehearse classify items.jsonl --target router --server https://rehearse.example
  rehearse classify items.jsonl --model openai:gpt-5-mini --write-predictions predictions.jsonl`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return f.unnamed(c)
			}
			f.said(c, args[0])
			if err := f.checkServer(c.Flags()); err != nil {
				return err
			}
			if f.run.server.url != "" {
				return f.onServer(c.Context(), env)
			}
			o, err := f.classify(c.Context(), env, true)
			if err == nil && !o.Report.Passed {
				return &exitError{code: result.ExitFailed}
			}
			return err
		},
	}
	f.register(c.PersistentFlags())
	f.run.server.register(c.Flags(),
		"base URL of a server that holds the run: a file of items with a --target, which are sent there")
	c.Flags().BoolVar(&f.run.detach, "detach", false, "with --server: print the run's id and return")
	c.AddCommand(newClassifyAll(env, f), newClassifyE2E(env, f))
	return c
}

func (f *classifyFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.Items, "items", "",
		"with a classifier of the chatbot: other items than the dataset of its name, a file or a dataset")
	flags.StringVar(&f.Predictions, "predictions", "", "file of predictions, joined with the items by id")
	flags.StringVar(&f.Target, "target", "",
		"classify here: intent-classifier, skill-selector, a name from rehearse.yaml, lexical, PROVIDER:MODEL, "+
			"flow:FILE or site:FOLDER#NAME")
	flags.StringVar(&f.Model, "model", "",
		"classify here with a model, PROVIDER:MODEL or a name from rehearse.yaml; with --target, "+
			"the model inside a chatbot or a flow")
	flags.StringVar(&f.Examples, "examples", "",
		"with lexical or a model: labelled items to learn from, such as a training set")
	flags.StringVar(&f.Write, "write-predictions", "", "write the predictions that are made here to this .jsonl file")
	flags.IntVarP(&f.run.workers, "workers", "w", 8, "items classified at once")
	flags.StringVar(&f.Sites, "sites", "",
		"of a chatbot's node: folder of sites, or the file of one (default: the sitebot targets of rehearse.yaml)")
	flags.StringVar(&f.Site, "site", "",
		"the site of items without metadata.site_name; what an item says goes before it (default: the only site)")
	flags.StringVar(&f.Prompts, "prompts", "",
		"folder of prompts that the sites name (default: prompts beside the sites)")
	flags.BoolVar(&f.LocalPrompt, "local-prompt", false, "prompts from files and built in only, not from Langfuse")
	flags.StringVar(&f.Config, "config", "",
		"configuration file (default: the nearest rehearse.yaml at or above the items, or the sites)")
	flags.StringVar(&f.log, "log", experiment.LogAuto,
		"log to Langfuse as a dataset run: auto (items from there), langfuse (always) or none")
	registerCI(flags, &f.ci)
	flags.StringVar(&f.format, "format", "text", "text, json or md")
	flags.StringVarP(&f.run.out, "out", "o", "", "folder for the results and reports (default .rehearse/runs/ID)")
	flags.StringVar(&f.run.resume, "resume", "", "go on with a run: its id, folder, or latest; say the rest as before")
	flags.IntVar(&f.run.trials, "trials", 0, "classify every item so many times; what is predicted most often counts")
	flags.StringVar(&f.run.record, "record", "",
		"record every exchange with models, embedders and targets in this file")
	flags.StringVar(&f.run.replay, "replay", "", "answer every request from this recording; ask nobody")
	flags.DurationVar(&f.run.timeout, "timeout", 0, "longest wait for one reply (default 2m)")
	flags.IntVar(&f.run.retries, "retries", 0, "how often a failed call is tried again (default 2)")
	flags.DurationVar(&f.run.grace, "grace", 15*time.Second,
		"after Ctrl-C, how long items in flight may take to finish")
	flags.StringVar(&f.Labels, "labels", "union", "labels whose mean F1 decides: union (true or predicted) or true")
	flags.IntVar(&f.Rows, "classes", 20,
		"how many classes and confusions text and md show, the worst first; 0 shows all")
	flags.Float64Var(&f.Least.MacroF1, "macro-f1", config.DefaultMacroF1, "least macro F1")
	flags.Float64Var(&f.Least.MinClassF1, "min-class-f1", config.DefaultMinClassF1,
		"least F1 of any class that occurs in the items")
	flags.Float64Var(&f.Least.Recall, "recall", config.DefaultSkillRecall,
		"for lists of labels, such as skills: least share of the true labels that are found")
	flags.Float64Var(&f.Least.Accuracy, "accuracy", 0, "least accuracy (default: none)")
	flags.StringVar(&f.trace, "trace", "yes", "yes, or no for --log none")
	flags.StringVar(&f.agent, "agentic-system", "new", "generation of the chatbot: new")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "no effect: use --classes 0 for all classes")
	for _, name := range []string{"trace", "agentic-system", "verbose"} {
		flags.Lookup(name).Hidden = true
	}
}

// unnamed says that the command line has not one name.
func (*classifyFlags) unnamed(c *cobra.Command) error {
	return usage("name one file of labelled items, or a classifier of the chatbot (see `%s --help`)", c.CommandPath())
}

// said notes what is on the command line. Flags that were given go before the configuration.
func (f *classifyFlags) said(c *cobra.Command, name string) {
	f.Name = name
	c.Flags().Visit(func(flag *pflag.Flag) { f.Given = append(f.Given, flag.Name) })
	f.run.noteChanged(c.Flags())
	f.Command = commandline.Of("classify", c.Flags(), []string{name}, notKept...)
	f.Version = version()
}

// check refuses what cannot be meant.
func (f *classifyFlags) check() error {
	f.Spec, f.Out, f.Resume = f.run.spec(), f.run.out, f.run.resume
	f.Spec.Suites, f.Spec.Config = nil, f.Config
	switch err := errors.Join(f.Request.Check(), ci.Check(f.ci)); {
	case err != nil:
		return outcome(err)
	case !slices.Contains([]string{"text", "json", "md"}, f.format):
		return usage("unknown format %q: use text, json or md", f.format)
	case f.trace != "yes" && f.trace != "no":
		return usage("unknown --trace %q: use yes or no", f.trace)
	case f.agent != "new":
		return usage("unknown --agentic-system %q: use new", f.agent)
	case !slices.Contains(experiment.LogModes(), f.log):
		return usage("unknown --log %q: use %s", f.log, alternatives(experiment.LogModes()))
	case f.run.record != "" && f.run.replay != "":
		return usage("--record and --replay exclude each other: record a run first, then replay it")
	case f.trace == "no":
		f.log = experiment.LogNone
	}
	return nil
}

// alternatives lists words as a, b or c.
func alternatives(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// open opens the configuration of the request. Close both setups by closing one.
func (f *classifyFlags) open(env *Env) (*wire.Setup, error) {
	o := f.run.options()
	o.Config, o.Model, o.LocalPrompt = f.Config, f.Inside(), f.LocalPrompt
	s, err := env.open(o)
	if err != nil {
		return nil, outcome(err)
	}
	at, err := f.Configured(s)
	if err != nil {
		env.closed(s)
	}
	return at, outcome(err)
}

// classify scores one classifier, and writes and logs what else is wanted. It shows the report, or returns it only.
func (f *classifyFlags) classify(ctx context.Context, env *Env, show bool) (*classify.Outcome, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	s, err := f.open(env)
	if err != nil {
		return nil, err
	}
	defer env.closed(s)
	c, remote, err := f.Read(ctx, s, func(ctx context.Context, name string) ([]dataset.Record, dataset.Name, error) {
		return openDataset(ctx, env, name)
	})
	if err != nil {
		return nil, outcome(err)
	}
	log, err := experiment.Open(f.log, remote, s.Getenv, s.Langfuse, s.Secrets(), env.say)
	if err != nil {
		return nil, outcome(err)
	}
	c.Log = classify.NewLog(log)
	defer interruptibly(ctx, env, c.Log.BreakOff) // unless it is finished
	progress := newProgress(env, false)
	working, stop, release := env.interruptible(ctx, f.run.grace, progress.note)
	c.Stop, c.Sink = stop, progress
	o, err := classify.Run(working, c)
	release()
	if o != nil && f.Write != "" { // also when the run broke off: it may have cost something
		err = errors.Join(err, o.WritePredictions(f.Write, c.Set.Several))
	}
	if errors.Is(err, classify.ErrInterrupted) {
		return nil, &exitError{result.ExitInterrupted, err}
	}
	if err != nil {
		return nil, outcome(err)
	}
	if f.run.out != "" {
		fmt.Fprintf(env.Stderr, "report: %s\n", o.Page())
	}
	if show {
		if err := o.Show(env.Stdout, f.format); err != nil {
			return nil, outcome(err)
		}
	}
	env.tellCI(f.ci, show && f.format == "text", ci.Verdict(o.Dir, c.Title(), o.Report.Sentence(), o.Report.Passed))
	interruptibly(ctx, env, func(ctx context.Context) { c.Log.Finish(ctx, &c, o) })
	return o, nil
}
