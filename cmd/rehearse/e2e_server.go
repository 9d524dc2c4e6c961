package main

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/rehearse-dev/rehearse/internal/app/evaluation"
	"github.com/rehearse-dev/rehearse/internal/app/wire/chatbot"
	"github.com/rehearse-dev/rehearse/internal/data/dataset"
	"github.com/rehearse-dev/rehearse/internal/fleet/remote"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// checkServer refuses what needs the disk, the process or the Langfuse of a local run.
func (f *e2eFlags) checkServer(flags *pflag.FlagSet, name string) error {
	if f.server.url == "" {
		return withoutServer(flags)
	}
	if err := localOnly(flags, "local-prompt", "trace"); err != nil {
		return err
	}
	switch {
	case !dataset.IsFile(name):
		return usage("a server takes a file of items: write %s into one with `rehearse dataset pull`", name)
	case (chatbot.Options{Dir: f.sites}).InDatabase():
		return usage(
			"--sites names a database, which is for local runs: a server takes a folder of sites, or the file of one")
	}
	return nil
}

// spec is the run as a server is asked for it, with the names that files have here.
func (f *e2eFlags) spec(items string) runspec.Spec {
	s := f.asRun().spec()
	s.Kind, s.Judge = runspec.KindE2E, f.judge
	s.E2E = &runspec.E2E{Items: items, Item: f.item, Sites: f.sites, Prompts: f.prompts, Site: f.site}
	if f.hasAccuracy {
		s.E2E.Accuracy = &f.accuracy
	}
	return s
}

// gather returns the run with every file that it reads, and what it asks for.
func (f *e2eFlags) gather(ctx context.Context, env *Env,
	items string) (sent remote.Gathered, asked *evaluation.SubmittedAnswers, err error) {
	if err := f.check(); err != nil {
		return sent, nil, err
	}
	sent, err = remote.Gather(ctx, env.open, f.spec(items), func(c evaluation.Config) (_ evaluation.Config, err error) {
		asked, c, err = evaluation.SubmitAnswers(c)
		return c, err
	})
	return sent, asked, outcome(err)
}

// onServer has a server hold the run, and shows and writes what a local run would.
func (f *e2eFlags) onServer(ctx context.Context, env *Env, items string) error {
	sent, asked, err := f.gather(ctx, env, items)
	if err != nil {
		return err
	}
	f.accuracy = asked.Least
	as := f.asRun()
	return as.onServer(ctx, env, sent, func(dir string, run *result.Run) error {
		answers, err := evaluation.ReadAnswers(dir)
		if err != nil {
			return &exitError{result.ExitNotRun, err}
		}
		decided := *run
		if answers.Decide(&decided, f.accuracy); decided.Code() != run.Code() {
			return &exitError{
				result.ExitNotRun,
				fmt.Errorf("the server's record of run %s and its answers disagree on how it ended", run.ID),
			}
		}
		reportWarnings(env, run, answers.Warning())
		ended := as.showFetched(env, dir, run)
		f.printSummary(env, asked.Recorded, answers)
		return ended
	})
}
