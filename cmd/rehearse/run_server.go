package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/rehearse-dev/rehearse/internal/app/evaluation"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/fleet/remote"
	"github.com/rehearse-dev/rehearse/internal/report"
	"github.com/rehearse-dev/rehearse/internal/run/compare"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// checkServer refuses flags that need the disk or the process that holds the conversations.
func (f *runFlags) checkServer(flags *pflag.FlagSet) error {
	if f.server.url == "" {
		return withoutServer(flags)
	}
	if err := localOnly(flags, "resume", "rerun", "watch", "record", "replay"); err != nil {
		return err
	}
	for _, name := range []string{"target-curl", "target-url", "local-prompt", "ignore-target", "dry-run"} {
		if flags.Changed(name) {
			return usage("--%s cannot be said to a server: describe targets in %s; the rest is for local runs", name,
				config.Name)
		}
	}
	if _, err := os.Stat(filepath.Join(f.baseline, runlog.RunFile)); f.baseline != "" && err == nil {
		return usage("--baseline %s is a folder here: with --server, name a run of the server by its id", f.baseline)
	}
	return nil
}

// heldThere has a server hold the run.
func (f *runFlags) heldThere(ctx context.Context, env *Env) error {
	sent, err := f.gather(ctx, env)
	if err != nil {
		return outcome(err)
	}
	return f.onServer(ctx, env, sent, func(dir string, run *result.Run) error {
		reportWarnings(env, run, "")
		if err := f.gate(dir, run); err != nil {
			return err
		}
		return f.showFetched(env, dir, run)
	})
}

// gather returns the run with every file that it reads.
func (f *runFlags) gather(ctx context.Context, env *Env) (remote.Gathered, error) {
	return remote.Gather(ctx, env.open, f.spec(), nil)
}

// reportWarnings prints the warnings of a run on a server, except for one that is printed elsewhere.
func reportWarnings(env *Env, run *result.Run, elsewhere string) {
	for _, warning := range run.Warnings {
		if warning != elsewhere {
			fmt.Fprintln(env.Stderr, "rehearse: "+warning)
		}
	}
}

// showFetched writes the reports of a run that a server held, and prints what it came to.
func (f *runFlags) showFetched(env *Env, dir string, run *result.Run) error {
	r := report.New(*run, runlog.ReadRecords(dir, *run)).At(f.reportURL)
	if err := r.Write(dir, report.Formats().Choose(f.formats)); err != nil {
		return &exitError{result.ExitNotRun, err}
	}
	return f.show(env, &evaluation.Completed{Dir: dir, Run: *run}, r)
}

// gate checks that the server has compared the run with its baseline, and that the exit code is that of the comparison.
func (f *runFlags) gate(dir string, run *result.Run) error {
	if f.baseline == "" || f.failOn == "" {
		return nil
	}
	spec := f.spec()
	if run.Comparison == nil {
		return &exitError{
			result.ExitNotRun,
			fmt.Errorf("the server has not compared run %s with the baseline %s", run.ID, f.baseline),
		}
	}
	if code, why := compare.Rule(spec.Rule()).Exit(run.Comparison, run.Code()); why != "" {
		run.Ended(code, run.ExitReason)
		run.ExitMessage = why
		return outcome(runlog.WriteRun(dir, *run))
	}
	return nil
}
