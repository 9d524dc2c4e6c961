package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rehearse-dev/rehearse/cmd/rehearse/commandline"
	"github.com/rehearse-dev/rehearse/internal/app/evaluation"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
	"github.com/rehearse-dev/rehearse/internal/report"
	"github.com/rehearse-dev/rehearse/internal/run/compare"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

func newGrade(env *Env) *cobra.Command {
	f := &runFlags{}
	c := &cobra.Command{
		Use:   "grade RUN|ANSWERS [SUITE…]",
		Short: "Grade answers that exist, without calling the agent",
		Long: `Grade a finished run again, or answers in a file. The result is a new run; no agent is called.

A RUN is an id, a folder, or latest. Without SUITE the files that the run names are read. Judge,
configuration, threshold, filters and tags are those of the run's command unless a flag overrides
them. Replies, latencies, usage, attempts and errors of the target are those of RUN; a turn that
failed there fails here. A test whose messages have changed since cannot be graded again: it is an
error that names the turn. Tests that RUN does not have are listed and left out. The summary shows
what changed since RUN; --baseline also compares with another run.

The conversations of a replay are graded by its own assertions, or by those of --assert.

ANSWERS is a file with a row for each test of SUITE: .jsonl, .json, .csv or .yaml, each also as .gz.
By default a row is {"id": TEST, "output": REPLY}; --map locates them in other files. A reply to
several turns is a list of messages. A test without an answer is an error; answers to tests that no
suite has are counted in a warning. Latencies are unknown: checks of them are undecided.

Exit codes: 0 passed, 1 tests failed, 2 wrong usage, an invalid suite or file, or an unfinished run,
3 something could not be graded, 130 interrupted.`,
		Example: `  rehearse grade latest                              after a change to assertions or prompts of the judge
  rehearse grade latest --judge openai:gpt-5         another judge over the same replies
  rehearse grade latest --threshold 0.9 --out strict/
  rehearse grade .rehearse/replays/ID --assert words.yaml
  rehearse grade 20260714-093000-1a2b3 evals/refund.yaml --filter 'refund-*' --no-judge-cache
  rehearse grade answers.jsonl suite.yaml            answers that another program recorded
  rehearse grade gpt.jsonl suite.yaml --map id=$.QUESTION_ID --map output=$.RESPONSE`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("name a run (its id, its folder, or latest) or a file of answers (see `%s --help`)",
					c.CommandPath())
			}
			info, err := os.Stat(args[0])
			if err == nil && !info.IsDir() || errors.Is(err, fs.ErrNotExist) && suite.HasRows(args[0]) {
				return outcome(f.gradeAnswers(c, env, args[0], args[1:]))
			}
			if len(f.maps) > 0 {
				return usage("--map is for a file of answers, and %s is not a file", args[0])
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
	f.registerMap(c.Flags())
	c.Flags().Lookup("baseline").Usage = "compare with another run than RUN: its id, folder, or latest"
	return c
}

// registerMap adds the flag that locates the parts of a row.
func (f *runFlags) registerMap(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.maps, "map", nil,
		"of ANSWERS: KEY=PATH; keys: id, output, messages, tool_calls, usage (default id=$.id, output=$.output)")
}

// gradeAnswers grades the answers in a file. The file is the only target, which is called as the file is.
func (f *runFlags) gradeAnswers(c *cobra.Command, env *Env, file string, suites []string) error {
	if len(suites) == 0 {
		return usage("name the suite by which %s is graded (see `%s --help`)", file, c.CommandPath())
	}
	paths, err := commandline.Map(f.maps)
	if err != nil {
		return err
	}
	recorded := map[string]any{"file": file}
	if len(paths.Fields) > 0 {
		recorded["map"] = target.AnswerMap(paths).Any()
	}
	t, err := target.Read("--map", source.FromAny(map[string]any{"recorded": recorded}))
	if err != nil {
		return err
	}
	name := strings.TrimSuffix(filepath.Base(file), ".gz")
	name = strings.TrimSuffix(name, filepath.Ext(name))
	f.described, f.targets = map[string]config.Target{name: t}, []string{name}
	f.commandLine = commandline.Of("grade", c.Flags(), slices.Concat([]string{file}, suites), notKept...)
	f.noteChanged(c.Flags())
	f.suites = suites
	if err := f.check(); err != nil {
		return err
	}
	if f.reportURL, err = env.published(f.reportURL); err != nil {
		return err
	}
	return f.run(c.Context(), env)
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
	before.registerMap(then)
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
