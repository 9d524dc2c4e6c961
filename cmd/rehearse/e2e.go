package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rehearse-dev/rehearse/internal/app/evaluation"
	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/data/dataset"
	"github.com/rehearse-dev/rehearse/internal/model/langfuse/experiment"
	"github.com/rehearse-dev/rehearse/internal/report"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

func newE2E(env *Env) *cobra.Command {
	f := &e2eFlags{}
	c := &cobra.Command{
		Use:   "e2e DATASET",
		Short: "Grade a chatbot's next answer in recorded conversations",
		Long: `Grade the next answer of a website's chatbot in recorded conversations, each in one call.

Each item of DATASET is one conversation: its history is turned into the state that it would have left, the state is put into a fresh session,
only the last query is sent, and only the answer to it is graded. DATASET is a file (.jsonl, .json, .csv, also .gz) or the name of a dataset in
Langfuse or a store (store:NAME). An item is {"id", "input": {"query"}, "expected_output": {"response", "assertions"?}, "metadata": {"site_name", "history":
[{"role", "content", "message_index"?}], "query_message_index"?, "query_in_history"?, "state"?}}: the response says in words what a good answer is, and a judge
scores its correctness, completeness, flow and format. Assertions are those of suites, such as {"type": "state", "path", "equals"}.

With --server, a server holds the run: the items are sent there with the sites and every file that these name, keys and other secrets are not. Output,
reports and exit code are those of a local run. Ctrl-C cancels it.

Exit codes: 0 enough answers were good, 1 too few, 2 wrong usage or invalid items, 3 something could not be run or graded, 130 interrupted.`,
		Example: `  rehearse e2e items.jsonl --sites examples/sites --judge openai:gpt-5
  rehearse e2e hexa.com-v1 --sites sites --sample-size 5 --verbose
  rehearse e2e items.jsonl --sites sites --item "Technical" --verbose
  rehearse e2e items.jsonl --sites sites --judge none        assertions only
  rehearse e2e items.jsonl --sites sites --server https://rehearse.example
  rehearse e2e verify items.jsonl --sites sites              is the rebuilt state the natural one?
  rehearse e2e rebuild items.jsonl > rebuilt.jsonl           the states alone`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.said(c, args); err != nil {
				return err
			}
			if f.server.url != "" {
				return f.onServer(c.Context(), env, args[0])
			}
			return f.run(c.Context(), env, args[0])
		},
	}
	f.register(c.Flags())
	c.AddCommand(newE2ERebuild(env), newE2EVerify(env))
	return c
}

// e2eFlags is what can be said on the command line of e2e.
type e2eFlags struct {
	sitesFlags
	item         string
	sample       int
	trace, agent string
	judge        string
	threshold    float64
	accuracy     float64
	hasAccuracy  bool
	workers      int
	out          string
	formats      []string
	timeout      time.Duration
	verbose      bool
	quiet        bool
	ci           string
	commandLine  []string
	// server holds the run where one is named; detach does not wait for its end.
	server serverFlags
	detach bool
}

// sitesFlags say which chatbot is evaluated.
type sitesFlags struct {
	sites, site, prompts, model, config string
	localPrompt                         bool
}

// siteUsage is what --site means.
const siteUsage = "the site of all items, instead of their metadata.site_name (default: the item's, or the only site)"

func (f *sitesFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.sites, "sites", "",
		"folder of sites, or the file of one (default: the sitebot targets of rehearse.yaml)")
	flags.StringVar(&f.site, "site", "", siteUsage)
	flags.StringVar(&f.prompts, "prompts", "",
		"folder of prompts that the sites name (default: prompts beside the sites)")
	flags.StringVar(&f.model, "model", "",
		"model that answers: a name from rehearse.yaml, or PROVIDER:MODEL (default: that of the site)")
	flags.StringVar(&f.config, "config", "",
		"configuration file (default: the nearest rehearse.yaml above the dataset)")
	flags.BoolVar(&f.localPrompt, "local-prompt", false, "prompts from files only, not from Langfuse")
}

func (f *e2eFlags) register(flags *pflag.FlagSet) {
	f.sitesFlags.register(flags)
	flags.StringVar(&f.item, "item", "", "only the item whose query or id holds this text")
	flags.IntVar(&f.sample, "sample-size", 0, "only so many items, the same ones every time")
	flags.StringVar(&f.trace, "trace", "yes", "log to Langfuse where it is configured: yes or no")
	flags.StringVar(&f.agent, "agentic-system", "new", "the chatbot's generation; there is only new")
	flags.StringVar(&f.judge, "judge", "",
		"model that judges: a name from rehearse.yaml, PROVIDER:MODEL, or none to grade by assertions only")
	flags.Float64Var(&f.threshold, "threshold", evaluation.DefaultAnswerThreshold, "score from which an answer is good")
	flags.Float64Var(&f.accuracy, "accuracy", config.DefaultAnswerAccuracy,
		"least share of good answers; rehearse.yaml may say another")
	flags.IntVarP(&f.workers, "workers", "w", 0, "items at once (default 8)")
	flags.StringVarP(&f.out, "out", "o", "", "folder for the results (default .rehearse/runs/ID)")
	flags.StringSliceVar(&f.formats, "format", report.Formats().Names(), "reports to write: "+report.Formats().Help())
	flags.DurationVar(&f.timeout, "timeout", 0, "longest wait for one reply (default 2m)")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "print every item, with what its history does not tell for sure")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print only the totals")
	registerCI(flags, &f.ci)
	f.server.register(flags, "base URL of a server that holds the run; items and what they name are sent there")
	flags.BoolVar(&f.detach, "detach", false, "with --server: print the run's id and return")
}

// said notes what is on the command line, and refuses what a server cannot do where one is named.
func (f *e2eFlags) said(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usage("name one dataset: a file of items, or a dataset in Langfuse (see `%s --help`)", c.CommandPath())
	}
	f.hasAccuracy = c.Flags().Changed("accuracy")
	f.commandLine = append([]string{"e2e"}, args...)
	return f.checkServer(c.Flags(), args[0])
}

func (f *e2eFlags) check() error {
	if err := report.Formats().Check(f.formats); err != nil {
		return usage("%w", err)
	}
	switch {
	case f.trace != "yes" && f.trace != "no":
		return usage("unknown --trace %q: use yes or no", f.trace)
	case f.agent != "new":
		return usage("unknown --agentic-system %q: there is only new", f.agent)
	case !(f.accuracy >= 0 && f.accuracy <= 1): // also what is no number
		return usage("--accuracy %g is out of range: use a share between 0 and 1", f.accuracy)
	case f.sample < 0:
		return usage("--sample-size cannot be negative")
	}
	return f.asRun().check()
}

// asRun returns the flags of the run that holds the tests.
func (f *e2eFlags) asRun() *runFlags {
	r := &runFlags{
		model: f.model, judge: f.judge, config: f.config, workers: f.workers, threshold: f.threshold,
		hasThreshold: true, sample: f.sample, localPrompt: f.localPrompt, out: f.out, formats: f.formats,
		timeout: f.timeout, grace: 15 * time.Second, ci: f.ci, verbose: f.verbose, quiet: f.quiet,
		commandLine: f.commandLine, server: f.server, detach: f.detach,
	}
	if f.judge == runspec.NoJudge {
		r.judge = ""
	}
	return r
}

// run evaluates a dataset.
func (f *e2eFlags) run(ctx context.Context, env *Env, name string) error {
	if err := f.check(); err != nil {
		return err
	}
	read, s, err := f.read(ctx, env, name, f.judge != runspec.NoJudge)
	if err != nil {
		return err
	}
	defer env.closed(s)
	if !f.hasAccuracy {
		f.accuracy = read.Config.Least().AnswerAccuracy
	}
	if f.item != "" {
		others, err := read.Only(f.item)
		if err != nil {
			return outcome(err)
		}
		if others != "" {
			fmt.Fprintln(env.Stderr, "rehearse: "+others)
		}
	}
	mode := experiment.LogAuto
	if f.trace == "no" {
		mode = experiment.LogNone
	}
	to, err := experiment.Open(
		mode, read.From.Kind == dataset.InLangfuse, s.Getenv, s.Langfuse, s.Secrets(), env.say)
	if err != nil {
		return outcome(err)
	}
	progress := newProgress(env, f.quiet)
	log := evaluation.NewAnswerLog(to, read.From.Dataset, read.Tests, progress)
	defer func() { interruptibly(ctx, env, log.BreakOff) }() // unless it is finished
	return f.evaluate(ctx, env, read, log, progress.note)
}

// read reads a dataset with the configuration that applies to it. Close the setup.
func (f *sitesFlags) read(ctx context.Context, env *Env, name string,
	judged bool) (*evaluation.Recorded, *wire.Setup, error) {
	items, from, err := openDataset(ctx, env, name)
	if err != nil {
		return nil, nil, err
	}
	s, err := env.open(wire.Options{Config: f.config, Model: f.model, LocalPrompt: f.localPrompt})
	if err != nil {
		return nil, nil, outcome(err)
	}
	read, err := evaluation.ReadRecorded(s, from, items, evaluation.RecordedConfig{
		Sites: f.sites, Prompts: f.prompts, Site: f.site, Judged: judged,
	})
	if err != nil {
		env.closed(s)
	}
	return read, s, outcome(err)
}

// evaluate holds the tests, concludes by the share of good answers, and prints what they came to.
func (f *e2eFlags) evaluate(ctx context.Context, env *Env, read *evaluation.Recorded, log *evaluation.AnswerLog,
	note func(string)) error {
	as := f.asRun()
	working, stop, release := env.interruptible(ctx, as.grace, note)
	e, err := evaluation.New(working, evaluation.Config{
		Setup: read.Setup(), Spec: as.spec(), Suites: read.Suites(), Out: f.out, Formats: f.formats,
		Command: f.commandLine, Version: version(), Stop: stop, Sink: log,
	})
	var held *evaluation.Completed
	if err == nil {
		held, err = e.Run(working)
	}
	release()
	if err != nil {
		return outcome(tooSoon(err))
	}
	answers, err := evaluation.ReadAnswers(held.Dir)
	if err != nil {
		return outcome(err)
	}
	answers.Decide(&held.Run, f.accuracy)
	r, err := e.Conclude(held)
	ended := storeError(as.show(env, held, r), err)
	f.printSummary(env, read, answers)
	interruptibly(ctx, env, func(ctx context.Context) { err = log.Finish(ctx, held, answers) })
	if ended == nil {
		return outcome(err)
	}
	return ended
}

// printSummary prints how good the answers are, and what the histories do not tell for sure.
func (f *e2eFlags) printSummary(env *Env, read *evaluation.Recorded, answers evaluation.Answers) {
	answers.Text(env.Stdout, f.accuracy)
	dataset.WriteWarnings(env.Stdout, read.Tests, f.verbose, !f.quiet)
}
