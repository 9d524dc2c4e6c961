package main

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"rehearse/internal/dataset"
	"rehearse/internal/result"
	"rehearse/internal/setup"
	"rehearse/internal/source"
)

// interval is when something began and ended.
type interval struct{ start, end time.Time }

// itemsOf returns the items that the argument stands for: those of --items, the dataset of a word, or the argument itself.
func (f *classifyFlags) itemsOf(name string) string {
	if name == e2eAPI {
		name = e2eDataset
	}
	return cmp.Or(f.items, name)
}

// read reads the configuration, the items and, side by side, their predictions if they are in a file.
func (f *classifyFlags) read(ctx context.Context, env *Env, name string) (*classified, error) {
	if err := f.configure(env, name); err != nil {
		return nil, err
	}
	items := &classified{}
	if f.predictions == "" {
		if err := f.asked.choose(); err != nil {
			return nil, err
		}
		items.target = f.asked.chosen.String()
	}
	var loaded dataset.Predictions
	var reading errgroup.Group
	if f.predictions != "" {
		items.target = "the predictions of " + f.predictions
		reading.Go(func() (err error) {
			loaded, err = dataset.LoadPredictions(f.predictions)
			return err
		})
	}
	err := items.load(ctx, env, f.itemsOf(name))
	// What is wrong with the items is told first, however the two happen to end.
	if second := reading.Wait(); err == nil && second != nil {
		err = &exitError{result.ExitInvalid, second}
	}
	if err != nil {
		return nil, err
	}
	if name == skillSelector || f.asked.chosen.node == skillSelector { // it answers with a list, whatever the items expect
		items.set.Several = true
	}
	if f.predictions != "" {
		if items.predictions, err = loaded.For(items.set); err != nil {
			return nil, outcome(source.AsInvalid(err))
		}
	}
	return items, nil
}

// load reads the items from a file, or a dataset of that name.
func (c *classified) load(ctx context.Context, env *Env, name string) (err error) {
	if dataset.IsFile(name) {
		base, _, _ := strings.Cut(filepath.Base(name), ".")
		c.dataset = base
		if c.set, err = dataset.Load(name); err != nil {
			return outcome(source.AsInvalid(err))
		}
		return nil
	}
	records, from, err := openDataset(ctx, env, name)
	if err != nil {
		return err
	}
	c.dataset, c.remote = from.Title(), from.Kind == dataset.InLangfuse
	if c.set, err = dataset.FromRecords(from.String(), records); err != nil {
		return outcome(source.AsInvalid(err))
	}
	return nil
}

// configure reads rehearse.yaml: --config, else the nearest at or above the items, else that of the sites. Its thresholds count where the
// command line gives none.
func (f *classifyFlags) configure(env *Env, name string) error {
	s, err := env.open(setup.Options{Config: f.config, Model: f.asked.inside(), LocalPrompt: f.asked.sites.localPrompt})
	if err != nil {
		return outcome(err)
	}
	around := "."
	if items := f.itemsOf(name); dataset.IsFile(items) {
		around = filepath.Dir(items)
	}
	at, err := s.At(around)
	if err == nil && at.Config().Path == "" && f.asked.sites.dir != "" {
		at, err = s.At(setup.FolderOf(f.asked.sites.dir))
	}
	if err != nil {
		env.closed(s)
		return outcome(err)
	}
	f.asked.setup, f.asked.config = at, at.Config()
	least := f.asked.config.Least()
	for flag, threshold := range map[string]struct {
		to    *float64
		value float64
	}{
		"macro-f1":     {&f.least.macroF1, least.MacroF1},
		"min-class-f1": {&f.least.minClassF1, least.MinClassF1},
		"recall":       {&f.least.recall, least.SkillRecall},
	} {
		if !slices.Contains(f.said, flag) {
			*threshold.to = threshold.value
		}
	}
	return nil
}
