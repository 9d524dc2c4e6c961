package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"rehearse/internal/config"
	"rehearse/internal/dataset"
	"rehearse/internal/evaluation"
	"rehearse/internal/grader"
	"rehearse/internal/langfuse/experiment"
	"rehearse/internal/setup"
	"rehearse/internal/suite"
)

// run evaluates a dataset.
func (f *e2eFlags) run(ctx context.Context, env *Env, name string) error {
	if err := f.check(); err != nil {
		return err
	}
	read, err := f.read(ctx, env, name, f.judge != noJudge)
	if err != nil {
		return err
	}
	defer env.closed(read.setup)
	if !f.hasAccuracy {
		c := read.setup.Config()
		f.accuracy = c.Least().AnswerAccuracy
	}
	if read.tests, err = f.chosen(env, read.tests); err != nil {
		return err
	}
	var to *experiment.Config
	if read.from.Kind == dataset.InLangfuse && f.trace == "yes" {
		if to, err = openLangfuseLog(env, logAuto, true); err != nil {
			return err
		}
	}
	progress := newProgress(env, f.quiet)
	log := evaluation.NewAnswerLog(to, read.from.Dataset, read.tests, progress)
	defer func() { interruptibly(ctx, env, log.BreakOff) }() // unless it is finished
	return f.evaluate(ctx, env, read, log, progress.note)
}

// readTests are the tests of a dataset with the sites that they are for.
type readTests struct {
	from  dataset.Name
	setup *setup.Setup
	sites *setup.NamedSites
	tests []*dataset.Test
}

// read reads a dataset with the configuration that applies to it. Close the setup.
func (f *sitesFlags) read(ctx context.Context, env *Env, name string, judged bool) (*readTests, error) {
	items, from, err := openDataset(ctx, env, name)
	if err != nil {
		return nil, err
	}
	s, err := env.open(setup.Options{Config: f.config, Model: f.model, LocalPrompt: f.localPrompt})
	if err != nil {
		return nil, outcome(err)
	}
	r := &readTests{from: from, setup: s}
	at, err := s.At(filepath.Dir(from.String()))
	if err == nil {
		r.setup = at
		r.sites, err = at.NamedSites(config.Site{Dir: f.sites, Prompts: f.prompts}, f.site)
	}
	if err == nil {
		r.tests, err = dataset.Tests(items, dataset.TestsConfig{
			Origin: from.String(), Judged: judged, Site: r.sites.Find, Check: grader.New(grader.Config{}).Validate,
		})
	}
	if err != nil {
		env.closed(s)
		return nil, outcome(err)
	}
	return r, nil
}

// evaluate holds the tests, concludes by the share of good answers, and prints what they came to.
func (f *e2eFlags) evaluate(ctx context.Context, env *Env, read *readTests, log *evaluation.AnswerLog, note func(string)) error {
	as := f.asRun()
	working, stop, release := env.interruptible(ctx, as.grace, note)
	e, err := evaluation.New(working, evaluation.Config{
		Setup: read.sites.Setup(), Spec: as.spec(), Suites: []*suite.Suite{dataset.SuiteOf(read.from.Title(), read.from.String(), read.tests)},
		Out: f.out, Formats: f.formats, Command: f.commandLine, Version: version(), Stop: stop, Sink: log,
	})
	var held *evaluation.Held
	if err == nil {
		held, err = e.Hold(working)
	}
	release()
	if err != nil {
		return outcome(err)
	}
	answers, err := evaluation.ReadAnswers(held)
	if err != nil {
		return outcome(err)
	}
	held.RequireShare(answers, f.accuracy)
	r, err := e.Conclude(held)
	ended := errors.Join(as.show(env, held, r), err)
	printAnswers(env.Stdout, answers, f.accuracy)
	printWarnings(env.Stdout, read.tests, f.verbose, f.quiet)
	interruptibly(ctx, env, func(ctx context.Context) { err = log.Finish(ctx, held, answers) })
	if ended == nil {
		return outcome(err)
	}
	return ended
}

// chosen applies --item: the first test that holds the text.
func (f *e2eFlags) chosen(env *Env, tests []*dataset.Test) ([]*dataset.Test, error) {
	if f.item == "" {
		return tests, nil
	}
	found := matching(tests, f.item)
	if len(found) == 0 {
		return nil, usage("no item has %q in its query or id", f.item)
	}
	if len(found) > 1 {
		fmt.Fprintf(env.Stderr, "rehearse: %d items hold %q; the first, %s, is taken: name more of the query, or the id, for another\n", len(found), f.item, found[0].ID)
	}
	return found[:1], nil
}

// matching returns the tests whose query or id holds a text, the one with that very id alone.
func matching(tests []*dataset.Test, text string) []*dataset.Test {
	var found []*dataset.Test
	for _, t := range tests {
		if t.ID == text {
			return []*dataset.Test{t}
		}
		if strings.Contains(t.Query, text) || strings.Contains(t.ID, text) {
			found = append(found, t)
		}
	}
	return found
}
