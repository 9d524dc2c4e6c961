package classify

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/data/dataset"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
)

// Selection is the classifier as a user asks for it. Its fields have the names of the flags.
type Selection struct {
	// Target is a node of a chatbot, a target of the configuration or in its short form, or a model; Model is a model
	// that classifies or, with a Target, the model inside it.
	Target, Model string
	// Examples is a file of labelled items that a model learns from.
	Examples string
	// Sites is the folder of a chatbot's sites. Site is the site of items that name none. Prompts is the folder of
	// prompts.
	Sites, Site, Prompts string
	LocalPrompt          bool
}

// Inside returns the model that answers inside a chatbot or a flow; without a target, Model is the classifier itself.
func (a *Selection) Inside() string {
	if a.Target == "" {
		return ""
	}
	return a.Model
}

// Classifier is the classifier that was chosen. Either model or target is set.
type Classifier struct {
	name    string
	setup   *wire.Setup
	request Selection
	// model chooses from labels.
	model *config.Model
	// target is a node of a chatbot, a whole chatbot, a flow or a server.
	target *config.Target
	// places are the folders with the sites of a chatbot or of its node. site is the site of items that name none.
	places []target.SiteConfig
	site   string
}

// String returns the classifier in words.
func (c *Classifier) String() string {
	if c.model != nil {
		return c.model.String()
	}
	return c.name
}

// decides returns everything that decides the classifier's answers.
func (c *Classifier) decides() any {
	var itself any
	switch {
	case c.model != nil:
		itself = c.setup.ModelDefinition(*c.model)
	case c.target != nil:
		itself = c.setup.DefinitionOf(*c.target)
	}
	var places []target.SiteConfig
	for _, place := range c.places {
		places = append(places, place.Spelled())
	}
	return []any{c.name, c.request, itself, places, c.site, c.setup.ModelDefinitions()}
}

// Lists reports whether the classifier answers with lists of labels, whatever the items have.
func (c *Classifier) Lists() bool {
	if c.target == nil {
		return false
	}
	node, ok := c.target.Options.(target.ClassifierConfig)
	return ok && node.Node == SkillSelector
}

// The nodes of a chatbot that classify.
const (
	IntentClassifier = "intent-classifier"
	SkillSelector    = "skill-selector"
)

// Choose returns the classifier that was asked for. It opens nothing.
func Choose(s *wire.Setup, a Selection) (*Classifier, error) {
	c := &Classifier{name: a.Target, setup: s, request: a}
	configuration := s.Config()
	t, ok := configuration.Targets[a.Target]
	if !ok {
		t, ok = target.Kinds().Short(a.Target)
	}
	switch {
	case a.Target == "":
		m, err := s.ModelNamed(a.Model, "model", wire.Names(configuration.Models))
		c.model = &m
		return c, cmp.Or(err, c.refuse("sites", "site", "prompts", "local-prompt"))
	case slices.Contains(target.ClassifierNodes(), a.Target):
		c.target, c.site, c.places = new(target.OfClassifier(target.ClassifierConfig{Node: a.Target})), a.Site,
			a.places(configuration)
		if err := c.refuse("examples"); err != nil || len(c.places) > 0 {
			return c, err
		}
		return nil, source.Invalid(
			"the chatbot whose %s is evaluated is not named: add --sites FOLDER, or a target of the kind sitebot to %s",
			a.Target, config.Name)
	case !ok:
		m, err := c.modelOfTarget()
		c.model = &m
		return c, cmp.Or(err, c.refuse("model", "sites", "site", "prompts", "local-prompt"))
	}
	return c, c.take(t)
}

// take takes a target of the configuration, or one in a short form.
func (c *Classifier) take(t config.Target) error {
	if _, ok := t.Options.(target.ModelConfig); ok {
		c.model = &t.Model
		return c.refuse("model", "sites", "site", "prompts", "local-prompt")
	}
	c.target = &t
	if place, ok := target.SiteOf(t); ok {
		c.site, c.places = cmp.Or(c.request.Site, place.Name), []target.SiteConfig{place}
		return c.refuse("sites", "prompts", "examples")
	}
	if t.Model.Provider == "" { // it has no model inside
		return c.refuse("model", "sites", "site", "prompts", "local-prompt", "examples")
	}
	if c.request.Model != "" {
		m, err := c.setup.ModelNamed(c.request.Model, "model", wire.Names(c.setup.Config().Models))
		if err != nil {
			return err
		}
		t.Model = m
	}
	return c.refuse("sites", "site", "prompts", "local-prompt", "examples")
}

// modelOfTarget reads the name of a target that the configuration does not have as the name of a model.
func (c *Classifier) modelOfTarget() (config.Model, error) {
	targets, models := c.setup.Config().Targets, c.setup.Config().Models
	if _, named := models[c.name]; !named && c.name != config.Lexical && !strings.Contains(c.name, ":") {
		known := slices.Concat(wire.Names(targets), wire.Names(models), target.ClassifierNodes(),
			[]string{config.Lexical})
		return config.Model{},
			source.Invalid("there is no target called %q: %s; or write PROVIDER:MODEL, flow:FILE or site:FOLDER#NAME",
				c.name, source.Suggest(c.name, known))
	}
	return c.setup.ModelNamed(c.name, "target", wire.Names(targets))
}

// refuse refuses flags that have no effect on what was chosen.
func (c *Classifier) refuse(without ...string) error {
	a := &c.request
	given := map[string]bool{
		"model": a.Target != "" && a.Model != "", "examples": a.Examples != "", "sites": a.Sites != "",
		"site": a.Site != "", "prompts": a.Prompts != "", "local-prompt": a.LocalPrompt,
	}
	for _, flag := range without {
		switch {
		case !given[flag]:
		case flag == "model":
			return source.Invalid("--target %s and --model exclude each other: --model is for a target with a model "+
				"inside, such as a chatbot or a flow", a.Target)
		case flag == "examples":
			return source.Invalid("--examples is for lexical and for models: %s has its own prompt", a.Target)
		default:
			return source.Invalid("--%s is for a node of the chatbot: it has no effect on %s; "+
				"add --target intent-classifier or skill-selector", flag, cmp.Or(a.Target, a.Model))
		}
	}
	return nil
}

// places returns where the sites are: the folder that was named, or those of the configuration's targets.
func (a *Selection) places(c config.File) []target.SiteConfig {
	if a.Sites != "" {
		return []target.SiteConfig{{Dir: a.Sites, Prompts: a.Prompts}}
	}
	var places []target.SiteConfig
	for _, name := range wire.Names(c.Targets) {
		if t, ok := c.Targets[name].Options.(target.SiteConfig); ok {
			places = append(places, target.SiteConfig{
				Dir: t.Dir, Prompts: cmp.Or(a.Prompts, t.Prompts), Model: t.Model,
			})
		}
	}
	return places
}

// siteOf returns the site that an item names. For an item that names none it returns c.site, or the only site.
func (c *Classifier) siteOf(item *dataset.Item) (target.SiteConfig, error) {
	own, _ := item.Metadata["site_name"].(string)
	name := cmp.Or(own, c.site)
	var where, known []string
	for _, place := range c.places {
		from, err := c.setup.ReadSites(place)
		if err != nil {
			return target.SiteConfig{}, err
		}
		where = append(where, from.Location)
		for _, one := range from.Library.Sites() {
			known = append(known, one.Name)
		}
		if found, err := from.Library.Find(name); err == nil && name != "" {
			place.Name = found.Name
			return place, nil
		}
	}
	if name == "" && len(known) == 1 {
		place := c.places[0]
		place.Name = known[0]
		return place, nil
	}
	return target.SiteConfig{}, c.noSite(item.ID, own, strings.Join(where, ", "), known)
}

// noSite is the error of an item whose site is not known: the site that it names does not exist, c.site does not exist,
// or the choice of a site is open.
func (c *Classifier) noSite(item, own, where string, known []string) error {
	switch {
	case own != "":
		return source.Invalid("the item %q is of the site %q, which is not in %s: correct its metadata.site_name "+
			"(%s), or remove it and say --site", item, own, where, source.Suggest(own, known))
	case c.site != "":
		return source.Invalid("there is no site %q in %s: %s", c.site, where, source.Suggest(c.site, known))
	}
	return source.Invalid(
		"the item %q names no site, and there are several in %s: write its metadata.site_name, or add --site: %s",
		item, where, strings.Join(known, ", "))
}
