package chatbot

import (
	"path/filepath"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
)

// Dependencies returns what a chatbot of a source may call. Opening it embeds the knowledge of all sites next to it.
func Dependencies(c Config, from *Source, o Options, name string) (target.Dependencies, error) {
	name, err := from.Choose(name)
	if err != nil {
		return target.Dependencies{}, err
	}
	c.Files.RecordFolder(c.promptFolder(o))
	var calls target.Dependencies
	for _, one := range from.Library.Sites() {
		if kb := one.KnowledgeBase; kb.LightRAG == nil && kb.Folder != "" && c.Files.IsFolder(kb.Folder) {
			c.Files.RecordFolder(filepath.Dir(kb.Folder)) // bases side by side share one index
			calls.Embeds = true
		}
		if one.Name != name {
			continue
		}
		for _, named := range slices.Compact(siteModels(o, one)) {
			m, err := c.model(one, named)
			if err != nil {
				return target.Dependencies{}, err
			}
			calls.Models = append(calls.Models, m)
		}
	}
	return calls, nil
}

// siteModels returns the names of a site's models: the one for answers and the one for small tasks.
func siteModels(o Options, one *site.Site) []string {
	names := []string{one.Models.Default, one.Models.Fast}
	if names[1] == "" {
		names[1] = names[0]
	}
	if o.Model != "" {
		names[0], names[1] = o.Model, o.Model
	}
	return names
}

// siteModel finds the model that a site calls by a name.
func (c Config) model(one *site.Site, name string) (config.Model, error) {
	if name == "" {
		return config.Model{}, source.Invalid(
			"%s does not say which model answers: add --model PROVIDER:MODEL, or `models: {default: …}` to the site",
			one.File)
	}
	m, err := c.Model(name)
	if source.IsInvalid(err) {
		err = source.Invalid("%s: %w; name one with --model", one.File, err)
	}
	return m, err
}
