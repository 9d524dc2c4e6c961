package main

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"rehearse/internal/chat"
	"rehearse/internal/config"
	"rehearse/internal/dataset"
	"rehearse/internal/runner"
	"rehearse/internal/suite"
)

// openTarget has a target that answers messages classify them: each item is a conversation of one turn, after what its history says.
func (a *classifyAsk) openTarget(ctx context.Context, env *Env, items *classified) (classify classifier, release func(), err error) {
	options, err := a.options(items.set)
	if err != nil {
		return nil, nil, err
	}
	read := &replyReader{several: items.set.Several, site: a.chosen.target.Kind == config.SiteTarget}
	for _, option := range options {
		read.labels = append(read.labels, option.ID)
	}
	w, err := newWiring(ctx, env, &runFlags{
		config: a.config.Path, dryRun: true, model: a.model, localPrompt: a.sites.localPrompt,
	}, []*suite.Suite{suite.Of("classify", items.set.File, nil)})
	if err != nil {
		return nil, nil, err
	}
	w.config = a.config
	at, err := a.targetsOf(w, items)
	if err != nil {
		w.close()
		return nil, nil, err
	}
	return func(ctx context.Context, item *dataset.Item) (dataset.Prediction, error) {
		return askTarget(ctx, at[item], item, read)
	}, w.close, nil
}

// targetsOf opens the target for each item before anything is asked: the one for all of them or, of a chatbot, the one of the item's site.
func (a *classifyAsk) targetsOf(w *wiring, items *classified) (map[*dataset.Item]runner.Target, error) {
	opened, at := map[string]runner.Target{}, map[*dataset.Item]runner.Target{}
	for i := range items.set.Items {
		item := &items.set.Items[i]
		t := *a.chosen.target
		if t.Kind == config.SiteTarget {
			t.Site.Name = cmp.Or(siteNameOf(item), a.chosen.site)
		}
		if opened[t.Site.Name] == nil {
			if err := a.knowsSite(w, t.Site, item); err != nil {
				return nil, err
			}
			name := "classify " + t.Site.Name
			w.config.Targets = map[string]config.Target{name: t}
			var err error
			if opened[t.Site.Name], err = w.target(name, suite.Execution{}); err != nil {
				return nil, err
			}
		}
		at[item] = opened[t.Site.Name]
	}
	return at, nil
}

// knowsSite refuses a site that a chatbot's folder does not have, in the words that say who named it.
func (a *classifyAsk) knowsSite(w *wiring, s config.Site, item *dataset.Item) error {
	if a.chosen.target.Kind != config.SiteTarget {
		return nil
	}
	opened, err := w.openedSites(s)
	if err != nil {
		return err
	}
	if _, err := opened.choose(s.Name); err == nil {
		return nil
	}
	var known []string
	for _, one := range opened.library.Sites() {
		known = append(known, one.Name)
	}
	return noSite(item.ID, siteNameOf(item), a.chosen.site, opened.place, known)
}

// askTarget holds the turn of an item and reads the prediction from the reply. Nothing is asked about a blank message: it is no prediction.
func askTarget(ctx context.Context, t runner.Target, item *dataset.Item, read *replyReader) (p dataset.Prediction, err error) {
	if strings.TrimSpace(item.Message) == "" {
		return dataset.Prediction{Null: true}, nil
	}
	message := chat.Content{Text: item.Message}
	session, err := t.Open(ctx, runner.Opening{Test: &suite.Test{
		Suite: "classify", ID: item.ID, Input: item.History, Turns: []suite.Turn{{Input: message}},
	}})
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	reply, err := session.Send(ctx, message)
	if err != nil {
		return p, err
	}
	return read.prediction(&reply), nil
}
