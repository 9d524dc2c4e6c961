package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rehearse/internal/report"
	"rehearse/internal/result"
	"rehearse/internal/runlog"
	"rehearse/internal/suite"
)

// runFlags is what can be said on the command line of run.
type runFlags struct {
	targets      []string
	model        string
	judge        string
	config       string
	workers      int
	trials       int
	threshold    float64
	filters      []string
	tags         []string
	sample       int
	out          string
	formats      []string
	resume       string
	rerun        string
	baseline     string
	record       string
	replay       string
	timeout      time.Duration
	retries      int
	grace        time.Duration
	noCache      bool
	dryRun       bool
	watch        bool
	quiet        bool
	verbose      bool
	noColour     bool
	hasTrials    bool
	hasThreshold bool
	hasRetries   bool
	// localPrompt leaves Langfuse's prompts out of chatbots.
	localPrompt bool
	commandLine []string
}

func newRun(env *Env) *cobra.Command {
	f := &runFlags{}
	c := &cobra.Command{
		Use:   "run SUITE…",
		Short: "Hold the conversations of suites and grade them",
		Long: `Hold the conversations of suites and grade every turn and the whole.

A SUITE is a file (.yaml, .jsonl, .csv, also .gz), a folder or a glob. Targets, models and the judge come from the flags,
from the suite, or from the nearest rehearse.yaml above the first suite.

Exit codes: 0 passed, 1 tests failed, 2 wrong usage or an invalid suite, 3 something could not be run or graded, 130 interrupted.`,
		Example: `  rehearse run examples/quickstart/suite.yaml
  rehearse run evals/ --target openai:gpt-5-mini --judge openai:gpt-5 --workers 16
  rehearse run suite.json --target flow:support.flow.yaml --model openai:gpt-5-mini
  rehearse run suite.yaml --filter 'refund-*' --trials 5
  rehearse run suite.yaml --record calls.jsonl     then --replay calls.jsonl needs no model
  rehearse run --resume latest                     go on with an interrupted run
  rehearse run --resume latest --rerun failed      run again what failed`,
		RunE: func(c *cobra.Command, args []string) error {
			return f.start(c, env, args)
		},
	}
	f.register(c.Flags())
	return c
}

func (f *runFlags) register(flags *pflag.FlagSet) {
	flags.StringSliceVar(&f.targets, "target", nil, "system under test: a name from rehearse.yaml, PROVIDER:MODEL, flow:FILE or site:FOLDER#NAME; several run each test with each")
	flags.StringVar(&f.model, "model", "", "model inside a target given as flow:FILE, and of chatbots: a name from rehearse.yaml, or PROVIDER:MODEL (default lexical)")
	flags.StringVar(&f.judge, "judge", "", "model that judges: a name from rehearse.yaml, or PROVIDER:MODEL")
	flags.StringVar(&f.config, "config", "", "configuration file (default: the nearest rehearse.yaml above the first suite)")
	flags.BoolVar(&f.localPrompt, "local-prompt", false, "of chatbots: prompts from files and built in only, not from Langfuse")
	flags.IntVarP(&f.workers, "workers", "w", 0, "conversations held at once (default 8)")
	flags.IntVar(&f.trials, "trials", 0, "hold every conversation so many times")
	flags.Float64Var(&f.threshold, "threshold", 0, "score from which a test passes (default 0.8)")
	flags.StringSliceVar(&f.filters, "filter", nil, "only tests whose id matches this glob, and what they depend on")
	flags.StringSliceVar(&f.tags, "tag", nil, "only tests with this tag, and what they depend on")
	flags.IntVar(&f.sample, "sample", 0, "only so many tests, the same ones every time")
	flags.StringVarP(&f.out, "out", "o", "", "folder for the results (default .rehearse/runs/ID)")
	flags.StringSliceVar(&f.formats, "format", report.Formats().Names(), "reports to write: "+report.Formats().Help())
	flags.StringVar(&f.resume, "resume", "", "go on with a run: its id, folder, or latest")
	flags.StringVar(&f.rerun, "rerun", "", "with --resume: run again what failed, or only what had errors")
	flags.StringVar(&f.baseline, "baseline", "", "compare with an earlier run: its id, folder, or latest")
	flags.StringVar(&f.record, "record", "", "record every exchange with a model in this file")
	flags.StringVar(&f.replay, "replay", "", "answer every request from this recording; ask no model")
	flags.DurationVar(&f.timeout, "timeout", 0, "longest wait for one reply (default 2m)")
	flags.IntVar(&f.retries, "retries", 0, "how often a failed call is tried again (default 2)")
	flags.DurationVar(&f.grace, "grace", 15*time.Second, "after Ctrl-C, how long conversations in flight may take to finish")
	flags.BoolVar(&f.noCache, "no-judge-cache", false, "ask the judge even if the same question was answered before")
	flags.BoolVar(&f.dryRun, "dry-run", false, "show what would run; ask nothing")
	flags.BoolVar(&f.watch, "watch", false, "run again whenever a file of the suites changes")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print only the totals")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "print every test")
	flags.BoolVar(&f.noColour, "no-color", false, "print without colours")
}

func (f *runFlags) start(c *cobra.Command, env *Env, args []string) error {
	if f.resume == "" && f.rerun != "" {
		f.resume = "latest"
	}
	if f.resume != "" {
		restored, rest, err := f.restore(c, args)
		if err != nil {
			return err
		}
		f, args = restored, rest
	} else {
		f.commandLine = commandLine(c, args)
		f.noteChanged(c.Flags())
	}
	if err := f.check(); err != nil {
		return err
	}
	if err := atLeastOneSuite(c, args); err != nil {
		return err
	}
	if f.watch {
		return f.watching(c.Context(), env, args)
	}
	return f.run(c.Context(), env, args)
}

// noteChanged remembers which numbers were said at all, since 0 says something too.
func (f *runFlags) noteChanged(flags *pflag.FlagSet) {
	f.hasTrials, f.hasThreshold, f.hasRetries = flags.Changed("trials"), flags.Changed("threshold"), flags.Changed("retries")
}

func (f *runFlags) check() error {
	for _, pattern := range f.filters {
		if _, err := path.Match(pattern, ""); err != nil {
			return usage("bad pattern %q for --filter: use * ? and [a-z] as in file names", pattern)
		}
	}
	if err := report.Formats().Check(f.formats); err != nil {
		return usage("%w", err)
	}
	switch {
	case f.rerun != "" && f.rerun != "failed" && f.rerun != "errors":
		return usage("unknown --rerun %q: use failed or errors", f.rerun)
	case f.record != "" && f.replay != "":
		return usage("--record and --replay exclude each other: record a run first, then replay it")
	case !(f.threshold >= 0 && f.threshold <= 1): // also what is no number
		return usage("--threshold %g is out of range: use a score between 0 and 1", f.threshold)
	case f.trials < 0 || f.trials > 10_000 || f.hasTrials && f.trials == 0:
		return usage("--trials %d is out of range: use 1 to 10000", f.trials)
	case f.workers < 0 || f.workers > 10_000:
		return usage("--workers %d is out of range: use 1 to 10000", f.workers)
	case f.sample < 0 || f.retries < 0 || f.timeout < 0 || f.grace < 0:
		return usage("--sample, --retries, --timeout and --grace cannot be negative")
	}
	return nil
}

// run is one whole run: load, plan, hold, report.
func (f *runFlags) run(ctx context.Context, env *Env, args []string) error {
	suites, problems, err := loadSuites(env, args)
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		return &exitError{exitUsage, problems}
	}
	w, err := newWiring(ctx, env, f, suites)
	if err != nil {
		return err
	}
	defer w.close()
	plan, err := w.plan()
	if err != nil {
		return err
	}
	if f.dryRun {
		return plan.describe(env.Stdout)
	}
	run, err := w.hold(ctx, plan)
	if err != nil {
		return err
	}
	return w.conclude(run)
}

// exitCode says how a finished run ended. What could not be run outweighs what failed: such a run is not a verdict on the agent.
func exitCode(t result.Totals) (code int, reason string) {
	switch {
	case t.Errors > 0:
		return exitNotRun, "errors"
	case t.Failed > 0:
		return exitFailed, "failed"
	}
	return exitPassed, "passed"
}

// commandLine returns what has to be typed to start the same run again.
func commandLine(c *cobra.Command, args []string) []string {
	line := []string{"run"}
	c.Flags().Visit(func(flag *pflag.Flag) {
		switch flag.Name {
		case "resume", "rerun", "watch", "dry-run", "out":
			return
		}
		values := []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			line = append(line, "--"+flag.Name+"="+value)
		}
	})
	return append(append(line, "--"), args...)
}

// restore returns the flags and suites of the run to be resumed, with what was said now on top.
func (f *runFlags) restore(c *cobra.Command, args []string) (*runFlags, []string, error) {
	dir, err := findRun(c.Context(), f.resume, f.config, args)
	if err != nil {
		return nil, nil, err
	}
	run, err := runlog.ReadRun(dir)
	if err != nil {
		return nil, nil, usage("cannot resume: %w", err)
	}
	if len(run.Command) == 0 {
		return nil, nil, usage("cannot resume %s: its run.json does not say what was run", dir)
	}
	then := &runFlags{}
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	then.register(flags)
	if err := flags.Parse(run.Command[1:]); err != nil {
		return nil, nil, usage("cannot resume %s: %w", dir, err)
	}
	var clash error
	c.Flags().Visit(func(flag *pflag.Flag) {
		if flag.Name == "resume" || flag.Name == "rerun" {
			return
		}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			then, _ := flags.Lookup(flag.Name).Value.(pflag.SliceValue)
			clash = errors.Join(clash, then.Replace(list.GetSlice()))
		} else {
			clash = errors.Join(clash, flags.Set(flag.Name, flag.Value.String()))
		}
	})
	if clash != nil {
		return nil, nil, usage("cannot resume %s: %w", dir, clash)
	}
	then.noteChanged(flags)
	then.resume, then.rerun, then.out, then.commandLine = run.ID, f.rerun, dir, run.Command
	if len(args) == 0 {
		args = flags.Args()
	}
	return then, args, nil
}

// findRun returns the folder of a run that was named by its folder, its id, the beginning of its id, or latest.
// Names of runs are looked up in the store of the configuration that applies to the suites, or to this folder.
func findRun(ctx context.Context, name, configFile string, suites []string) (string, error) {
	if info, err := os.Stat(path.Join(name, runlog.RunFile)); err == nil && !info.IsDir() {
		return name, nil
	}
	index, err := openConfiguredStore(ctx, configFile, suites)
	if err != nil {
		return "", err
	}
	defer func() { _ = index.Close() }() // nothing was written
	entry, err := index.Run(ctx, name)
	if err != nil {
		return "", usage("there is no run %q: name its folder, its id, or latest (%w)", name, err)
	}
	return entry.Dir, nil
}

// settle returns the test's execution with the command line on top.
func (f *runFlags) settle(e suite.Execution) suite.Execution {
	said := suite.Execution{Targets: slices.Compact(slices.Sorted(slices.Values(f.targets))), Workers: f.workers, Timeout: f.timeout}
	if f.hasThreshold {
		said.Threshold = &f.threshold
	}
	if f.hasTrials {
		said.Trials.Count = f.trials
		if e.Trials.Strategy == "" { // every trial is wanted, so none may be spared by an early pass
			said.Trials.Strategy = suite.MeanScore
		}
	}
	if f.hasRetries {
		said.Retries = &f.retries
	}
	if f.noCache {
		said.Cache = new(false)
	}
	return said.Over(e)
}

// matches reports whether the test was selected by --filter and --tag.
func (f *runFlags) matches(t *suite.Test) bool {
	if len(f.filters) > 0 && !slices.ContainsFunc(f.filters, func(pattern string) bool { return matchID(pattern, t.ID) }) {
		return false
	}
	return len(f.tags) == 0 || slices.ContainsFunc(f.tags, func(tag string) bool { return slices.Contains(t.Tags, tag) })
}

// matchID matches an id with a glob whose * also matches a slash, since ids are no paths.
func matchID(pattern, id string) bool {
	flat := func(s string) string { return strings.ReplaceAll(s, "/", "\x00") }
	ok, _ := path.Match(flat(pattern), flat(id)) // the pattern was checked at the start
	return ok
}

// runID names a run by its time, with a suffix against two in one second.
func runID(now time.Time) string {
	return strings.ToLower(now.UTC().Format("20060102-150405")) + fmt.Sprintf("-%03x", now.Nanosecond()/1000%4096)
}
