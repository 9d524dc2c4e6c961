package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"rehearse/internal/classify"
	"rehearse/internal/dataset"
	"rehearse/internal/report/classification"
	"rehearse/internal/result"
	"rehearse/internal/runlog"
	"rehearse/internal/runspec"
	"rehearse/internal/setup"
	"rehearse/internal/source"
)

// classify scores one classifier, shows its report, and writes and logs what else is wanted.
func (f *classifyFlags) classify(ctx context.Context, env *Env, name string, show func(*classification.Report) error) (*classification.Report, error) {
	s, err := f.configure(env, name)
	if err != nil {
		return nil, err
	}
	defer env.closed(s)
	c, remote, err := f.read(ctx, env, s, name)
	if err != nil {
		return nil, err
	}
	log, err := openLangfuseLog(env, f.log, remote)
	if err != nil {
		return nil, err
	}
	c.Log = classify.NewLog(log)
	defer interruptibly(ctx, env, c.Log.BreakOff) // unless it is finished
	progress := newProgress(env, false)
	working, stop, release := env.interruptible(ctx, f.run.grace, progress.note)
	c.Stop, c.Sink = stop, progress
	o, err := classify.Run(working, c)
	release()
	if o != nil && f.write != "" { // also when the run broke off: it may have cost something
		err = errors.Join(err, runlog.WriteFile(f.write, func(w io.Writer) error {
			return classify.WritePredictions(w, o.Predictions, c.Set.Several)
		}))
	}
	if errors.Is(err, classify.ErrInterrupted) {
		return nil, &exitError{result.ExitInterrupted, err}
	}
	if err != nil {
		return nil, outcome(err)
	}
	if f.run.out != "" {
		fmt.Fprintf(env.Stderr, "report: %s\n", filepath.Join(o.Dir, classification.Page))
	}
	if err := show(o.Report); err != nil {
		return nil, outcome(err)
	}
	interruptibly(ctx, env, func(ctx context.Context) { c.Log.Finish(ctx, &c, o) })
	return o.Report, nil
}

// read reads the items and, side by side, their predictions if they are in a file. remote is true of items of Langfuse.
func (f *classifyFlags) read(ctx context.Context, env *Env, s *setup.Setup, name string) (c classify.Config, remote bool, err error) {
	c = classify.Config{
		Setup: s, From: f.predictions, View: f.view(), Spec: f.spec(), Out: f.run.out, Command: f.run.commandLine, Version: version(),
	}
	if f.predictions == "" {
		if c.Classifier, err = classify.Choose(s, f.asked); err != nil {
			return c, false, outcome(err)
		}
	}
	if f.run.resume != "" {
		c.Resume = true
		if c.Out, err = env.findRun(ctx, f.run.resume, f.config, "."); err != nil {
			return c, false, outcome(err)
		}
	}
	var loaded dataset.Predictions
	var reading errgroup.Group
	if f.predictions != "" {
		reading.Go(func() (err error) {
			loaded, err = dataset.LoadPredictions(f.predictions)
			return err
		})
	}
	c.Set, c.Dataset, remote, err = labelledItems(ctx, env, f.itemsOf(name))
	// What is wrong with the items is told first, however the two happen to end.
	if second := reading.Wait(); err == nil {
		err = outcome(source.AsInvalid(second))
	}
	if err != nil {
		return c, false, err
	}
	if name == skillSelector || c.Classifier != nil && c.Classifier.Lists() { // it answers with a list, whatever the items expect
		c.Set.Several = true
	}
	if f.predictions != "" {
		c.Predictions, err = loaded.For(c.Set)
	}
	return c, remote, outcome(source.AsInvalid(err))
}

// labelledItems loads the items from a file, or a dataset of that name.
func labelledItems(ctx context.Context, env *Env, name string) (set dataset.Set, title string, remote bool, err error) {
	if dataset.IsFile(name) {
		base, _, _ := strings.Cut(filepath.Base(name), ".")
		set, err = dataset.Load(name)
		return set, base, false, outcome(source.AsInvalid(err))
	}
	records, from, err := openDataset(ctx, env, name)
	if err == nil {
		set, err = dataset.FromRecords(from.String(), records)
	}
	return set, from.Title(), from.Kind == dataset.InLangfuse, outcome(source.AsInvalid(err))
}

// configure reads rehearse.yaml: --config, else the nearest at or above the items, else that of the sites. Its thresholds count where the
// command line gives none.
func (f *classifyFlags) configure(env *Env, name string) (*setup.Setup, error) {
	o := f.run.options()
	o.Config, o.Model, o.LocalPrompt = f.config, f.asked.Inside(), f.asked.LocalPrompt
	s, err := env.open(o)
	if err != nil {
		return nil, outcome(err)
	}
	around := "."
	if items := f.itemsOf(name); dataset.IsFile(items) {
		around = filepath.Dir(items)
	}
	at, err := s.At(around)
	if err == nil && at.Config().Path == "" && f.asked.Sites != "" {
		at, err = s.At(setup.FolderOf(f.asked.Sites))
	}
	if err != nil {
		env.closed(s)
		return nil, outcome(err)
	}
	c := at.Config()
	least := c.Least()
	for flag, threshold := range map[string]struct {
		to    *float64
		value float64
	}{
		"macro-f1": {&f.least.macroF1, least.MacroF1}, "min-class-f1": {&f.least.minClassF1, least.MinClassF1}, "recall": {&f.least.recall, least.SkillRecall},
	} {
		if !slices.Contains(f.said, flag) {
			*threshold.to = threshold.value
		}
	}
	return at, nil
}

// spec says how the items are asked about.
func (f *classifyFlags) spec() runspec.Spec {
	s := f.run.spec()
	s.Suites, s.Model, s.Config = nil, "", f.config
	return s
}
