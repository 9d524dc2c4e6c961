package chatbot

import (
	"cmp"
	"maps"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/data/dataset"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// NamedSites are sites that are found by their names, in one place or several. It is not safe for concurrent use.
type NamedSites struct {
	read   func(target.SiteConfig) (*Source, error)
	places []target.SiteConfig
	// instead is the site that is meant whatever is named; empty for none.
	instead string
	found   map[string]*site.Site
	targets map[string]config.Target
}

// NewNamedSites looks for sites in a place or, when it has no folder, in the places of the configured targets. Instead
// is the site that is meant whatever is named; empty means the named one.
func NewNamedSites(read func(target.SiteConfig) (*Source, error), configured map[string]config.Target,
	place target.SiteConfig, instead string) (*NamedSites, error) {
	n := &NamedSites{read: read, instead: instead, found: map[string]*site.Site{}, targets: map[string]config.Target{}}
	if place.Dir != "" {
		n.places = []target.SiteConfig{place}
		return n, nil
	}
	for _, name := range slices.Sorted(maps.Keys(configured)) {
		if c, ok := configured[name].Options.(target.SiteConfig); ok {
			n.places = append(n.places, c)
		}
	}
	if len(n.places) == 0 {
		return nil, source.Invalid(
			"it is not said which chatbot is evaluated: add --sites FOLDER, or a target of the kind sitebot to %s",
			config.Name)
	}
	return n, nil
}

// Find returns the site of a name from the first place that has it. No name means the only site. It opens nothing.
func (n *NamedSites) Find(name string) (*site.Site, error) {
	name = cmp.Or(n.instead, name)
	if found := n.found[name]; found != nil {
		return found, nil
	}
	var failure error
	for _, place := range n.places {
		from, err := n.read(place)
		if err != nil {
			return nil, err
		}
		chosen, err := from.Choose(name)
		if err != nil {
			failure = err
			continue
		}
		found, err := from.Library.Find(chosen)
		if err != nil {
			return nil, err
		}
		n.found[name] = found
		place.Name = found.Name
		n.targets[dataset.TargetOf(found)] = target.OfSite(place)
		return found, nil
	}
	return nil, failure
}

// Targets returns the sites that were found as targets, called as dataset.TargetOf says.
func (n *NamedSites) Targets() map[string]config.Target { return n.targets }

// Playback returns a chatbot of the sites that were found with nothing but their rules: it asks one model, which plays
// recorded answers, and has no knowledge, no data of visitors, and nobody to tell of leads. Its sessions are kept in
// memory.
func (n *NamedSites) Playback(model llm.Model) (*sitebot.Bot, error) {
	var sites []*site.Site
	for _, name := range slices.Sorted(maps.Keys(n.found)) {
		if one := n.found[name]; !slices.Contains(sites, one) { // found by an alias, too
			sites = append(sites, one)
		}
	}
	library, err := site.NewLibrary(sites...)
	if err != nil {
		return nil, source.AsInvalid(err)
	}
	return sitebot.New(sitebot.Config{
		Sites: library, MarkersStand: true,
		Models: func(*site.Site) (sitebot.Models, error) { return sitebot.Models{Default: model, Fast: model}, nil },
	})
}
