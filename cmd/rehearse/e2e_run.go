package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"rehearse/internal/config"
	"rehearse/internal/dataset"
	"rehearse/internal/evaluation"
	"rehearse/internal/grader"
	"rehearse/internal/setup"
	"rehearse/internal/sitebot/site"
	"rehearse/internal/suite"
)

// run evaluates a dataset.
func (f *e2eFlags) run(ctx context.Context, env *Env, name string) error {
	if err := f.check(); err != nil {
		return err
	}
	records, from, err := openDataset(ctx, env, name)
	if err != nil {
		return err
	}
	where := from.String()
	opened, err := f.open(env, where)
	if err != nil {
		return outcome(err)
	}
	defer env.closed(opened)
	if !f.hasAccuracy {
		c := opened.Config()
		f.accuracy = c.Least().AnswerAccuracy
	}
	items, targets, err := f.items(opened, records, where, f.judge != noJudge)
	if err != nil {
		return outcome(err)
	}
	if items, err = f.chosen(env, items); err != nil {
		return err
	}
	log, err := f.openLog(env, from, items)
	if err != nil {
		return err
	}
	defer log.breakOff(ctx) // unless it is finished
	return f.evaluate(ctx, env, opened.With(targets), asSuite(from.Title(), where, items), items, log)
}

// open opens the configuration that applies to the dataset.
func (f *sitesFlags) open(env *Env, where string) (*setup.Setup, error) {
	s, err := env.open(setup.Options{Config: f.config, Model: f.model, LocalPrompt: f.localPrompt})
	if err != nil {
		return nil, err
	}
	at, err := s.At(filepath.Dir(where))
	if err != nil {
		env.closed(s)
	}
	return at, err
}

// evaluate holds the items as tests and concludes by the share of good answers.
func (f *e2eFlags) evaluate(ctx context.Context, env *Env, s *setup.Setup, tests *suite.Suite, items []*e2eItem, log *e2eLog) error {
	as := f.asRun()
	progress := newProgress(env, f.quiet)
	working, stop, release := env.interruptible(ctx, as.grace, progress.note)
	e, err := evaluation.New(working, evaluation.Config{
		Setup: s, Spec: as.spec(), Suites: []*suite.Suite{tests}, Out: f.out, Formats: f.formats, Command: f.commandLine, Version: version(),
		Stop: stop, Sink: log.sink(progress),
	})
	var held *evaluation.Held
	if err == nil {
		held, err = e.Hold(working)
	}
	release()
	if err != nil {
		return outcome(err)
	}
	return f.conclude(ctx, env, e, held, items, log)
}

// items reads the records, each for its site, and returns them with the targets that the sites are.
func (f *sitesFlags) items(s *setup.Setup, records []dataset.Record, where string, judged bool) ([]*e2eItem, map[string]config.Target, error) {
	places := f.places(s.Config())
	if len(places) == 0 {
		return nil, nil, usage("it is not said which chatbot is evaluated: add --sites FOLDER, or a target of the kind sitebot to %s", config.Name)
	}
	targets := map[string]config.Target{}
	known := map[string]*site.Site{}
	find := func(name string) (*site.Site, error) {
		name = cmp.Or(name, f.site)
		if found := known[name]; found != nil {
			return found, nil
		}
		var failure error
		for _, place := range places {
			opened, err := s.SitesAt(place)
			if err != nil {
				return nil, err
			}
			chosen, err := opened.Choose(name)
			if err != nil {
				failure = err
				continue
			}
			found, err := opened.Library.Find(chosen)
			if err != nil {
				return nil, err
			}
			known[name] = found
			place.Name = found.Name
			targets[siteTargetName(found)] = config.Target{Kind: config.SiteTarget, Site: place}
			return found, nil
		}
		return nil, failure
	}
	r := &e2eReader{origin: where, judged: judged, kinds: grader.New(grader.Config{}), find: find}
	items, err := r.all(records)
	return items, targets, err
}

// siteTargetName is what the target of a site is called in results.
func siteTargetName(s *site.Site) string { return "sitebot:" + s.Name }

// chosen applies --item: the first item that holds the text.
func (f *e2eFlags) chosen(env *Env, items []*e2eItem) ([]*e2eItem, error) {
	if f.item == "" {
		return items, nil
	}
	found := matching(items, f.item)
	switch len(found) {
	case 0:
		return nil, usage("no item has %q in its query or id", f.item)
	case 1:
	default:
		fmt.Fprintf(env.Stderr, "rehearse: %d items hold %q; the first, %s, is taken: name more of the query, or the id, for another\n", len(found), f.item, found[0].id)
	}
	return found[:1], nil
}

// matching returns the items whose query or id holds a text, the one with that very id alone.
func matching(items []*e2eItem, text string) []*e2eItem {
	var found []*e2eItem
	for _, item := range items {
		if item.id == text {
			return []*e2eItem{item}
		}
		if strings.Contains(item.query, text) || strings.Contains(item.id, text) {
			found = append(found, item)
		}
	}
	return found
}

// asSuite returns the items as tests, each with its site as the target.
func asSuite(name, file string, items []*e2eItem) *suite.Suite {
	tests := make([]*suite.Test, 0, len(items))
	for _, item := range items {
		item.test.Suite = name
		item.test.Execution.Targets = []string{siteTargetName(item.site)}
		tests = append(tests, item.test)
	}
	return suite.Of(name, file, tests)
}
