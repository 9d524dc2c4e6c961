package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/cmd/rehearse/commandline"
	"github.com/rehearse-dev/rehearse/internal/app/evaluation"
	"github.com/rehearse-dev/rehearse/internal/app/replayrun"
	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/shell"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/report"
	"github.com/rehearse-dev/rehearse/internal/report/ci"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

func newRun(env *Env) *cobra.Command {
	f := &runFlags{}
	c := &cobra.Command{
		Use:   "run [SUITE…]",
		Short: "Hold the conversations of suites and grade them",
		Long: `Hold the conversations of suites and grade every turn and the whole.

A SUITE is a file (.yaml, .jsonl, .csv, also .gz), a folder, a glob, or - for standard input (YAML or JSON); without one, suite.yaml is run where
rehearse.yaml stands beside it, as init writes them. Targets, models and the judge come from the flags,
from the suite, or from the nearest rehearse.yaml above the suite.

With --server, a server holds the run: the suites are sent there with every file that they name, keys and
other secrets are not. Ctrl-C cancels it. --resume, --rerun, --watch, --record and --replay are for local runs.

Exit codes: 0 passed, 1 tests failed, 2 wrong usage or an invalid suite, 3 something could not be run or graded, 130 interrupted.`,
		Example: `  rehearse run examples/quickstart/suite.yaml
  rehearse run evals/ --target openai:gpt-5-mini --judge openai:gpt-5 --workers 16
  rehearse run suite.yaml --target openai:agent --target-url http://127.0.0.1:8000/v1     your agent; the judge stays where it is
  rehearse run suite.yaml --target-curl request.txt     a curl line, pasted into a file
  rehearse run suite.json --target flow:support.flow.yaml --model openai:gpt-5-mini
  rehearse run suite.yaml --filter 'refund-*' --trials 5
  rehearse run suite.yaml --record calls.jsonl     then --replay calls.jsonl needs no model
  rehearse run evals/ --baseline main/ --fail-on regression    fail only for what became worse
  rehearse run evals/ --server https://rehearse.example     a server holds it; same output, same exit code
  rehearse run evals/ --server http://127.0.0.1:8090 --detach     print the run's id and return
  generate-suite | rehearse run -                  a suite from standard input
  rehearse run --resume latest                     go on with an interrupted run
  rehearse run --resume latest --rerun failed      run again what failed`,
		RunE: func(c *cobra.Command, args []string) error {
			err := f.start(c, env, args)
			if problems, ok := errors.AsType[source.Problems](err); ok {
				env.tellCI(f.ci, true, ci.Invalid(problems))
			}
			return err
		},
	}
	f.register(c.Flags())
	return c
}

// start begins a run, or goes on with one.
func (f *runFlags) start(c *cobra.Command, env *Env, args []string) error {
	if err := f.checkServer(c.Flags()); err != nil {
		return err
	}
	if f.resume == "" && f.rerun != "" {
		f.resume = "latest"
	}
	if f.resume != "" {
		restored, rest, err := f.restore(c, env, args)
		if err != nil {
			return outcome(err)
		}
		f, args = restored, rest
	} else {
		f.commandLine = commandline.Of("run", c.Flags(), args, notKept...)
		f.noteChanged(c.Flags())
	}
	if len(args) == 0 && begun() {
		args = []string{ownSuite}
	}
	f.suites = args
	if err := f.check(); err != nil {
		return err
	}
	if err := atLeastOneSuite(c, args); err != nil {
		return err
	}
	var err error
	if f.reportURL, err = env.published(f.reportURL); err != nil {
		return err
	}
	if slices.Contains(f.suites, source.Stdin) {
		given, err := f.readSuite(env)
		if err != nil {
			return err
		}
		defer os.Remove(given) //nolint:errcheck // it is in the folder of temporary files
		f.files = source.WithStdin(given)
	}
	if f.server.url != "" {
		return f.heldThere(c.Context(), env)
	}
	if f.described, err = env.curlTarget("--target-curl", f.targetCurl, c.Flags().Changed("target-curl")); err != nil {
		return err
	}
	if f.watch {
		return f.watching(c.Context(), env)
	}
	return outcome(f.run(c.Context(), env))
}

// ownSuite is run where no suite is named, in a folder that init has begun.
const ownSuite = "suite.yaml"

// begun reports whether this folder has what init writes: a suite with its configuration.
func begun() bool {
	for _, name := range []string{ownSuite, "rehearse.yaml"} {
		if _, err := os.Stat(name); err != nil {
			return false
		}
	}
	return true
}

// run is one whole run: open, plan, hold, conclude, show.
func (f *runFlags) run(ctx context.Context, env *Env) error {
	ctx, sent := env.traced(ctx, env.warn())
	defer sent()
	s, err := env.open(f.options())
	if err != nil {
		return err
	}
	defer env.closed(s)
	c := evaluation.Config{Setup: s}
	if f.replayed {
		if c.Setup, err = s.At("."); err != nil {
			return err
		}
		made, err := replayrun.Suite(f.regraded, c.Setup.Files, f.assert)
		if err != nil {
			return err
		}
		c.Suites = []*suite.Suite{made}
	}
	return f.evaluate(ctx, env, c)
}

// evaluate holds the evaluation of a setup, or of suites that were made, and shows what it came to.
func (f *runFlags) evaluate(ctx context.Context, env *Env, c evaluation.Config) error {
	progress := newProgress(env, f.quiet)
	c.Spec, c.Out, c.Formats, c.Command, c.Version = f.spec(), f.out, f.formats, f.commandLine, version()
	c.Resume, c.Rerun, c.Regrade, c.Sink = f.resume != "", f.rerun, f.regraded, progress
	c.Compare.IgnoreTarget = f.ignoreTarget
	c.BaselineOptional, c.ReportURL = f.baselineOptional, f.reportURL
	working, stop, release := env.interruptible(ctx, f.grace, progress.note)
	c.Stop = stop
	e, err := evaluation.New(working, c)
	if err == nil && f.dryRun {
		release()
		return e.Describe(ctx, env.Stdout)
	}
	var held *evaluation.Completed
	if err == nil {
		held, err = e.Run(working)
	}
	release()
	if err != nil {
		return tooSoon(err)
	}
	r, err := e.Conclude(held)
	return storeError(f.show(env, held, r), err)
}

// tooSoon gives the error of a run that was interrupted before it could hold anything its exit code.
func tooSoon(err error) error {
	if errors.Is(err, context.Canceled) {
		return &exitError{result.ExitInterrupted, fmt.Errorf("interrupted before anything was held: %w", err)}
	}
	return err
}

// storeError returns what showing a run came to, unless the record of the run could not be kept.
func storeError(shown, keeping error) error {
	if keeping != nil {
		return &exitError{result.ExitNotRun, keeping}
	}
	return shown
}

// show prints what a run came to and returns its exit code as an error.
func (f *runFlags) show(env *Env, held *evaluation.Completed, r *report.Report) error {
	if r == nil {
		return nil
	}
	style := report.TextOptions{
		Colour: env.colours() && !f.noColour, Width: env.Width,
		Verbose: f.verbose || held.Run.Totals.Tests <= fewTests, Simulated: f.verbose, Quiet: f.quiet, Dir: held.Dir,
	}
	style.Page = report.PageOf(held.Dir, f.reportURL)
	if err := r.Text(env.Stdout, style); err != nil {
		return err
	}
	said := ci.Summary{Dir: held.Dir, Failing: r.Failing, Deciding: held.Run.Totals.Failed + held.Run.Totals.Errors}
	if held.Run.Stopped() {
		said.Stopped = report.Headline(held.Run)
	}
	env.tellCI(f.ci, true, said)
	if err := f.sinceGraded(env, held); err != nil {
		return err
	}
	if held.Run.Code() == result.ExitInterrupted && f.server.url == "" {
		again := ""
		if !isGrade(held.Run) { // whose command ends with arguments
			again = env.again()
		}
		if f.rerun != "" {
			again += " --rerun " + f.rerun
		}
		fmt.Fprintf(env.Stderr, "rehearse: interrupted; go on with\n  %s%s\n", goOn(held.Run, held.Dir), again)
	}
	if held.Run.Code() != result.ExitPassed {
		return &exitError{code: held.Run.Code()}
	}
	return nil
}

// goOn returns the command that continues a stopped run.
func goOn(run result.Run, dir string) string {
	if command := run.Continued(); command != nil {
		words := []string{"rehearse"}
		for _, word := range command {
			words = append(words, shell.Quote(word))
		}
		return strings.Join(words, " ")
	}
	return "rehearse run --resume " + shell.Quote(dir)
}

// isGrade reports whether a run graded an earlier run or a file of answers.
func isGrade(run result.Run) bool { return len(run.Command) > 0 && run.Command[0] == "grade" }

// fewTests is how many tests are listed on the terminal without being asked for.
const fewTests = 20

// findRun returns the folder of a run: named by its folder, its id or latest. Ids are looked up in the store of the
// configuration file or, without one, of the configuration nearest to a folder.
func (e *Env) findRun(ctx context.Context, name, configFile, near string) (string, error) {
	s, err := e.open(wire.Options{Config: configFile})
	if err != nil {
		return "", err
	}
	defer e.closed(s)
	if s, err = s.At(near); err != nil {
		return "", err
	}
	return evaluation.FindRun(ctx, s, name)
}

// watching runs the suites again whenever a file in their folders changes, until the user stops it.
func (f *runFlags) watching(ctx context.Context, env *Env) error {
	watch := evaluation.NewWatch(f.suites, f.record)
	for {
		err := outcome(f.run(ctx, env))
		exit, _ := errors.AsType[*exitError](err)
		switch {
		case exit != nil && exit.code == result.ExitInterrupted:
			return err
		case err != nil && (exit == nil || exit.err != nil):
			reportError(env, "run", err)
		}
		fmt.Fprintln(env.Stderr, "rehearse: waiting for a change; Ctrl-C ends")
		waiting, release := untilSignal(ctx, env)
		err = watch.Changed(waiting)
		release()
		if err != nil {
			return &exitError{code: result.ExitInterrupted}
		}
	}
}
