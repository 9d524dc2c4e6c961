package main

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/pflag"

	"rehearse/internal/config"
	"rehearse/internal/dataset"
	"rehearse/internal/setup"
	"rehearse/internal/sitebot"
	"rehearse/internal/source"
	"rehearse/internal/target"
)

// nodeSites say on which sites a node of the chatbot is evaluated.
type nodeSites struct {
	dir, site, prompts string
	localPrompt        bool
}

func (n *nodeSites) register(flags *pflag.FlagSet) {
	flags.StringVar(&n.dir, "sites", "", "of a chatbot's node: folder of sites, or the file of one (default: the sitebot targets of rehearse.yaml)")
	flags.StringVar(&n.site, "site", "", siteUsage)
	flags.StringVar(&n.prompts, "prompts", "", "folder of prompts that the sites name (default: prompts beside the sites)")
	flags.BoolVar(&n.localPrompt, "local-prompt", false, "prompts from files and built in only, not from Langfuse")
}

// siteUsage is what --site means, of classify and of e2e alike.
const siteUsage = "the site of items without metadata.site_name; what an item says goes before it (default: the only site)"

// places returns where the sites are: the folder that was named, or those of the configuration's targets.
func (n *nodeSites) places(c config.File) []config.Site {
	if n.dir != "" {
		return []config.Site{{Dir: n.dir, Prompts: n.prompts}}
	}
	var places []config.Site
	for _, name := range setup.Names(c.Targets) {
		if t := c.Targets[name]; t.Kind == config.SiteTarget {
			places = append(places, config.Site{Dir: t.Site.Dir, Prompts: cmp.Or(n.prompts, t.Site.Prompts), Model: t.Site.Model})
		}
	}
	return places
}

// nodePlaces are opened sites, each place with its node.
type nodePlaces struct {
	opened      []*setup.Sites
	classifiers []*sitebot.Classifier
}

// openNode opens the node of the chatbot on every site, and finds the site of every item before any model is asked.
func (a *classifyAsk) openNode(ctx context.Context, env *Env, items *classified) (classify classifier, release func(), err error) {
	p := &nodePlaces{}
	for _, place := range a.chosen.places {
		opened, err := a.setup.Sites(ctx, setup.SitesOptions{Dir: place.Dir, Prompts: place.Prompts, Model: cmp.Or(a.model, place.Model)})
		if err != nil {
			return nil, nil, outcome(err)
		}
		p.opened = append(p.opened, opened)
		node, err := target.ClassifierNode(opened.Bot, a.chosen.node)
		if err != nil {
			return nil, nil, outcome(err)
		}
		p.classifiers = append(p.classifiers, node)
	}
	at := map[*dataset.Item]nodeSite{}
	for i := range items.set.Items {
		item := &items.set.Items[i]
		if at[item], err = p.siteOf(item, a.chosen.site); err != nil {
			return nil, nil, err
		}
	}
	return func(ctx context.Context, item *dataset.Item) (dataset.Prediction, error) {
		where := at[item]
		found, err := where.node.Classify(ctx, where.name, item.Message, item.History)
		if err != nil {
			return dataset.Prediction{}, err
		}
		c := target.ClassificationOf(&found)
		return dataset.Prediction{Labels: c.Labels, Null: c.Labels == nil, Confidence: c.Confidence}, nil
	}, func() {}, nil
}

// nodeSite is the node on one site.
type nodeSite struct {
	name string
	node *sitebot.Classifier
}

// siteOf returns the site that the item names; of an item that names none, the one that is said for those, or the only one.
func (p *nodePlaces) siteOf(item *dataset.Item, said string) (nodeSite, error) {
	own := siteNameOf(item)
	name := cmp.Or(own, said)
	var places, names []string
	for i, opened := range p.opened {
		places = append(places, opened.Place)
		for _, one := range opened.Library.Sites() {
			names = append(names, one.Name)
		}
		if found, err := opened.Library.Find(name); err == nil && name != "" {
			return nodeSite{found.Name, p.classifiers[i]}, nil
		}
	}
	if name == "" && len(names) == 1 {
		return nodeSite{names[0], p.classifiers[0]}, nil
	}
	return nodeSite{}, noSite(item.ID, own, said, strings.Join(places, ", "), names)
}

// siteNameOf returns the site that an item names, empty for none.
func siteNameOf(item *dataset.Item) string {
	name, _ := item.Metadata["site_name"].(string)
	return name
}

// noSite says that the site of an item is not known: the one that the item names, the one that was said for items that name none, or any.
func noSite(item, own, said, where string, known []string) error {
	switch {
	case own != "":
		return usage("the item %q is of the site %q, which is not in %s: correct its metadata.site_name (%s), or remove it and say --site",
			item, own, where, source.Suggest(own, known))
	case said != "":
		return usage("there is no site %q in %s: %s", said, where, source.Suggest(said, known))
	}
	return usage("the item %q names no site, and there are several in %s: write its metadata.site_name, or add --site: %s",
		item, where, strings.Join(known, ", "))
}
