package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"github.com/rehearse-dev/rehearse/internal/app/classify"
	"github.com/rehearse-dev/rehearse/internal/app/evaluation"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/data/dataset"
	"github.com/rehearse-dev/rehearse/internal/fleet/remote"
	"github.com/rehearse-dev/rehearse/internal/report"
	"github.com/rehearse-dev/rehearse/internal/report/ci"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// checkServer refuses what a run of a server has no word for.
func (f *classifyFlags) checkServer(flags *pflag.FlagSet) error {
	if f.run.server.url == "" {
		return withoutServer(flags)
	}
	if err := localOnly(flags, "predictions", "resume", "record", "replay", "log", "grace",
		"local-prompt"); err != nil {
		return err
	}
	for _, name := range []string{"examples", "sites", "site", "prompts", "labels"} {
		if flags.Changed(name) {
			return usage("--%s cannot be said to a server: describe the classifier as a target in %s, "+
				"and name that with --target", name, config.Name)
		}
	}
	switch {
	case !dataset.IsFile(f.Name) || flags.Changed("items"):
		return usage("a server takes one file of labelled items, and what classifies them: " +
			"`rehearse classify ITEMS --target NAME --server URL`")
	case f.Target == "":
		return usage(
			"say what classifies the items with --target: a name of %s, or a short form such as PROVIDER:MODEL",
			config.Name)
	}
	return nil
}

// spec is the run as a server is asked for it, with the names that files have here. It is complete once the flags are
// checked.
func (f *classifyFlags) spec() runspec.Spec {
	s := f.Spec
	s.Kind, s.Model = runspec.KindClassify, f.Model
	s.Classify = &runspec.Classify{Items: f.Name, Target: f.Target}
	said := func(flag string, value *float64) *float64 {
		if slices.Contains(f.Given, flag) {
			return value
		}
		return nil
	}
	s.Classify.Thresholds = runspec.Thresholds{
		MacroF1: said("macro-f1", &f.Least.MacroF1), MinClassF1: said("min-class-f1", &f.Least.MinClassF1),
		Recall: said("recall", &f.Least.Recall), Accuracy: said("accuracy", &f.Least.Accuracy),
	}
	if !slices.Contains(f.Given, "workers") { // as many as there are
		s.Limits.Workers = 0
	}
	return s
}

// gather returns the run with every file that it reads, and what it asks for.
func (f *classifyFlags) gather(ctx context.Context,
	env *Env) (sent remote.Gathered, asked *classify.Submitted, err error) {
	if err := f.check(); err != nil {
		return sent, nil, err
	}
	sent, err = remote.Gather(ctx, env.open, f.spec(), func(c evaluation.Config) (_ evaluation.Config, err error) {
		asked, c, err = classify.Submit(c)
		return c, err
	})
	return sent, asked, outcome(err)
}

// onServer has a server hold the run, and shows and writes what a local run would.
func (f *classifyFlags) onServer(ctx context.Context, env *Env) error {
	sent, asked, err := f.gather(ctx, env)
	if err != nil {
		return err
	}
	asked.Show(f.Rows)
	f.run.writes = report.Owned()
	return f.run.onServer(ctx, env, sent, func(dir string, run *result.Run) error {
		reportWarnings(env, run, "")
		return f.showFetched(env, asked, dir, run)
	})
}

// showFetched writes the reports of a run that a server held, and prints what it came to.
func (f *classifyFlags) showFetched(env *Env, asked *classify.Submitted, dir string, run *result.Run) error {
	decided := *run
	o, err := asked.Outcome(&decided, dir)
	if err == nil && decided.Code() != run.Code() {
		err = fmt.Errorf("the server's record of run %s and its predictions disagree on how it ended", run.ID)
	}
	if err != nil {
		return &exitError{result.ExitNotRun, err}
	}
	err = report.New(*run, runlog.ReadRecords(dir, *run)).Write(dir, report.Formats().Choose([]string{"junit"}))
	if f.Write != "" { // also when the run broke off: it may have cost something
		err = errors.Join(err, o.WritePredictions(f.Write, asked.Several()))
	}
	if err == nil {
		err = asked.Write(o)
	}
	if err != nil {
		return outcome(err)
	}
	if o.Report == nil {
		return &exitError{max(run.Code(), result.ExitFailed), classify.Unreported(run, dir)}
	}
	if f.run.out != "" {
		fmt.Fprintf(env.Stderr, "report: %s\n", o.Page())
	}
	if err := o.Show(env.Stdout, f.format); err != nil {
		return outcome(err)
	}
	env.tellCI(f.ci, f.format == "text", ci.Verdict(dir, asked.Title(), o.Report.Sentence(), o.Report.Passed))
	if !o.Report.Passed {
		return &exitError{code: result.ExitFailed}
	}
	return nil
}
