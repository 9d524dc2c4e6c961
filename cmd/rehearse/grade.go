package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rehearse-dev/rehearse/cmd/rehearse/commandline"
	"github.com/rehearse-dev/rehearse/internal/app/evaluation"
	"github.com/rehearse-dev/rehearse/internal/report"
	"github.com/rehearse-dev/rehearse/internal/run/compare"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

func newGrade(env *Env) *cobra.Command {
	f := &runFlags{}
	c := &cobra.Command{
		Use:   "grade RUN [SUITE…]",
		Short: "Grade the conversations of a finished run again, without asking the agent",
		Long: `Grade the recorded conversations of a finished run again, with the suites as they are now, into a new run. No target is asked. A RUN is an id,
a folder, or latest. Without SUITE the files that the run names are read. Judge, configuration, threshold, filters and tags are those of the
run's command where no flag says otherwise.

Replies, latencies, usage, attempts and errors of the target are those of RUN; a turn that failed there fails here. A test whose messages have
changed since cannot be graded again: it is an error that names the turn. Tests that RUN has not held are named and left out. The summary
says what changed against RUN; --baseline compares with another run as well.

The conversations of a replay are graded by its own assertions, or by those of --assert.

Exit codes: 0 passed, 1 tests failed, 2 wrong usage, an invalid suite or a run that has not come to its end, 3 something could not be graded,
130 interrupted.`,
		Example: `  rehearse grade latest                              after a change to assertions or prompts of the judge
  rehearse grade latest --judge openai:gpt-5         another judge over the same replies
  rehearse grade latest --threshold 0.9 --out strict/
  rehearse grade .rehearse/replays/ID --assert words.yaml
  rehearse grade 20260714-093000-1a2b3 evals/refund.yaml --filter 'refund-*' --no-judge-cache`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("name a run to grade again: its id, its folder, or latest (see `%s --help`)",
					c.CommandPath())
			}
			return outcome(f.grade(c, env, args[0], args[1:]))
		},
	}
	all := pflag.NewFlagSet("run", pflag.ContinueOnError)
	f.register(all)
	for _, name := range []string{
		"judge", "no-judge-cache", "config", "threshold", "filter", "tag", "workers", "out", "format", "baseline",
		"grace", "quiet", "verbose", "no-color", "baseline-optional", "report-url", "ci",
	} {
		c.Flags().AddFlag(all.Lookup(name))
	}
	c.Flags().StringVar(&f.assert, "assert", "", "file of assertions for the conversations of a replay")
	c.Flags().Lookup("baseline").Usage = "compare with another run than RUN: its id, folder, or latest"
	return c
}

// grade grades a run again, with the flags of its command where none were given.
func (f *runFlags) grade(c *cobra.Command, env *Env, name string, suites []string) error {
	near := "."
	if len(suites) > 0 {
		near = filepath.Dir(suites[0])
	}
	dir, err := env.findRun(c.Context(), name, f.config, near)
	if err != nil {
		return err
	}
	run, err := evaluation.FinishedRun(dir)
	if err != nil {
		return err
	}
	if err := inherit(c.Flags(), env, run); err != nil {
		return err
	}
	if name == "latest" {
		name = run.ID
	}
	f.commandLine = commandline.Of("grade", c.Flags(), slices.Concat([]string{name}, suites), notKept...)
	f.noteChanged(c.Flags())
	if f.regraded, f.suites = dir, suites; len(suites) == 0 {
		f.suites = run.Suites
	}
	if f.replayed = isReplay(run); f.replayed && len(suites) > 0 {
		return usage("run %s is a replay: its conversations are the tests; name assertions with --assert FILE", run.ID)
	} else if !f.replayed && f.assert != "" {
		return usage("--assert is for replays: change the assertions of the suite, and grade run %s again", run.ID)
	}
	if err := f.check(); err != nil {
		return err
	}
	if f.reportURL, err = env.published(f.reportURL); err != nil {
		return err
	}
	return f.run(c.Context(), env)
}

// isReplay reports whether the conversations of a run are those of a log.
func isReplay(run result.Run) bool { return len(run.Command) > 0 && run.Command[0] == "replay" }

// inherit sets the flags that decide which tests are graded and how, where they were not given, to what the command of
// a run said. The curl line of that command is read again, as far as it is there: records lack its credentials.
func inherit(flags *pflag.FlagSet, env *Env, run result.Run) error {
	if len(run.Command) == 0 || isReplay(run) {
		return nil
	}
	then := pflag.NewFlagSet("run", pflag.ContinueOnError)
	before := &runFlags{}
	before.register(then)
	if err := then.Parse(run.Command[1:]); err != nil {
		return usage("cannot grade run %s again: its command: %w", run.ID, err)
	}
	// Its secrets are learned. A reply that lacks a credential is refused when it is graded.
	_, _ = env.curlTarget("--target-curl", before.targetCurl, false)
	names := []string{"judge", "config", "threshold", "filter", "tag"}
	if lost := commandline.Lost(then, flags, names...); lost != "" {
		return usage(
			"cannot grade run %s again: %s held a secret, which run.json does not keep: give it again beside the run",
			run.ID, lost)
	}
	var clash error
	for _, name := range names {
		if said := then.Lookup(name); said.Changed && !flags.Changed(name) {
			clash = errors.Join(clash, commandline.Set(flags, said))
		}
	}
	return clash
}

// sinceGraded says what changed against the run that was graded again, where the report compares with another one.
func (f *runFlags) sinceGraded(env *Env, held *evaluation.Completed) error {
	if f.regraded == "" || f.baseline == "" {
		return nil
	}
	var sides [2]compare.Side
	for i, dir := range []string{f.regraded, held.Dir} {
		var err error
		if sides[i], err = compare.Open(dir); err != nil {
			return fmt.Errorf("compare with the graded run: %w", err)
		}
	}
	found, err := compare.Runs(sides[0], sides[1], compare.Options{})
	if err != nil {
		return fmt.Errorf("compare with the graded run: %w", err)
	}
	return report.ComparisonText(env.Stdout, found, report.TextOptions{
		Colour: env.colours() && !f.noColour, Width: env.Width, Quiet: f.quiet,
	})
}
