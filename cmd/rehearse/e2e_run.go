package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"rehearse/internal/config"
	"rehearse/internal/dataset"
	"rehearse/internal/sitebot/site"
	"rehearse/internal/suite"
)

// run evaluates a dataset.
func (f *e2eFlags) run(ctx context.Context, env *Env, name string) error {
	if err := f.check(); err != nil {
		return err
	}
	records, where, err := openDataset(ctx, env, name)
	if err != nil {
		return err
	}
	s := suite.Of(datasetName(where), where, nil)
	w, err := newWiring(ctx, env, f.asRun(), []*suite.Suite{s})
	if err != nil {
		return err
	}
	defer w.close()
	if !f.hasAccuracy {
		f.accuracy = w.config.Least().AnswerAccuracy
	}
	items, err := f.items(w, records, where, f.judge != noJudge)
	if err != nil {
		return err
	}
	if items, err = f.chosen(env, items); err != nil {
		return err
	}
	w.suites[0] = asSuite(s, items)
	plan, err := w.plan()
	if err != nil {
		return err
	}
	log, err := f.openLog(w, items)
	if err != nil {
		return err
	}
	defer log.breakOff(ctx) // unless it is finished
	run, err := w.hold(ctx, plan)
	if err != nil {
		return err
	}
	return f.conclude(ctx, w, run, items, log)
}

// datasetName is what a dataset is called in results: its name in Langfuse or in a store, or that of its file.
func datasetName(where string) string {
	if isStored(where) {
		stored, _ := readStored(where) // it was opened by that name
		return stored.name
	}
	if remote, ok := strings.CutPrefix(where, langfuseScheme); ok {
		return remote
	}
	name := strings.TrimSuffix(filepath.Base(where), ".gz")
	return strings.TrimSuffix(name, filepath.Ext(name))
}

// items reads the records, each for its site.
func (f *sitesFlags) items(w *wiring, records []dataset.Record, where string, judged bool) ([]*e2eItem, error) {
	places := f.places(w.config)
	if len(places) == 0 {
		return nil, usage("it is not said which chatbot is evaluated: add --sites FOLDER, or a target of the kind sitebot to %s", config.Name)
	}
	if w.config.Targets == nil {
		w.config.Targets = map[string]config.Target{}
	}
	known := map[string]*site.Site{}
	find := func(name string) (*site.Site, error) {
		name = cmp.Or(name, f.site)
		if found := known[name]; found != nil {
			return found, nil
		}
		var failure error
		for _, place := range places {
			opened, err := w.openedSites(place)
			if err != nil {
				return nil, err
			}
			chosen, err := opened.choose(name)
			if err != nil {
				failure = err
				continue
			}
			found, err := opened.library.Find(chosen)
			if err != nil {
				return nil, err
			}
			known[name] = found
			place.Name = found.Name
			w.config.Targets[siteTargetName(found)] = config.Target{Kind: config.SiteTarget, Site: place}
			return found, nil
		}
		return nil, failure
	}
	r := &e2eReader{origin: where, judged: judged, kinds: w.kinds, find: find}
	return r.all(records)
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
func asSuite(s *suite.Suite, items []*e2eItem) *suite.Suite {
	tests := make([]*suite.Test, 0, len(items))
	for _, item := range items {
		item.test.Suite = s.Name
		item.test.Execution.Targets = []string{siteTargetName(item.site)}
		tests = append(tests, item.test)
	}
	return suite.Of(s.Name, s.File, tests)
}
