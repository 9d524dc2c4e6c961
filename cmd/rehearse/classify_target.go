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
	at, err := a.targetsOf(items)
	if err != nil {
		return nil, nil, outcome(err)
	}
	return func(ctx context.Context, item *dataset.Item) (dataset.Prediction, error) {
		return askTarget(ctx, at[item], item, read)
	}, func() {}, nil
}

// targetsOf opens the target for each item before anything is asked: the one for all of them or, of a chatbot, the one of the item's site.
func (a *classifyAsk) targetsOf(items *classified) (map[*dataset.Item]runner.Target, error) {
	opened, at := map[string]runner.Target{}, map[*dataset.Item]runner.Target{}
	for i := range items.set.Items {
		item := &items.set.Items[i]
		t := *a.chosen.target
		if t.Kind == config.SiteTarget {
			t.Site.Name = cmp.Or(siteNameOf(item), a.chosen.site)
		}
		if opened[t.Site.Name] == nil {
			if err := a.knowsSite(t.Site, item); err != nil {
				return nil, err
			}
			name := "classify " + t.Site.Name
			own := a.setup.With(map[string]config.Target{name: t})
			var err error
			if opened[t.Site.Name], err = own.Target(name, suite.Execution{}); err != nil {
				return nil, err
			}
		}
		at[item] = opened[t.Site.Name]
	}
	return at, nil
}

// knowsSite refuses a site that a chatbot's folder does not have, in the words that say who named it.
func (a *classifyAsk) knowsSite(s config.Site, item *dataset.Item) error {
	if a.chosen.target.Kind != config.SiteTarget {
		return nil
	}
	opened, err := a.setup.SitesAt(s)
	if err != nil {
		return err
	}
	if _, err := opened.Choose(s.Name); err == nil {
		return nil
	}
	var known []string
	for _, one := range opened.Library.Sites() {
		known = append(known, one.Name)
	}
	return noSite(item.ID, siteNameOf(item), a.chosen.site, opened.Place, known)
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
