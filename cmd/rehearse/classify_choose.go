package main

import (
	"cmp"
	"slices"
	"strings"

	"rehearse/internal/config"
	"rehearse/internal/setup"
	"rehearse/internal/source"
)

// chosenClassifier is what --target and --model stand for. One of node, target and model is set.
type chosenClassifier struct {
	// node is a node of a chatbot, evaluated on the sites of places; site is that of items that name none.
	node   string
	places []config.Site
	site   string
	// target is any other target that answers messages: a flow, a server, or a whole chatbot.
	target *config.Target
	model  *config.Model
	// name is what was said.
	name string
}

// String returns the classifier in words.
func (c *chosenClassifier) String() string {
	if c.model != nil {
		return c.model.String()
	}
	return c.name
}

// choose finds out what classifies, from the configuration and what was said.
func (a *classifyAsk) choose() error {
	a.chosen.name = a.target
	t, ok := a.config.Targets[a.target]
	if !ok {
		t, ok = config.ShortTarget(a.target, "")
	}
	switch {
	case a.target == "":
		m, err := a.setup.ModelNamed(a.model, "model", setup.Names(a.config.Models))
		a.chosen.model = &m
		return cmp.Or(err, a.only("sites", "site", "prompts", "local-prompt"))
	case slices.Contains(config.ClassifierNodes(), a.target):
		a.chosen.node, a.chosen.site, a.chosen.places = a.target, a.sites.site, a.sites.places(a.config)
		if err := a.only("examples"); err != nil || len(a.chosen.places) > 0 {
			return err
		}
		return usage("it is not said whose %s is evaluated: add --sites FOLDER, or a target of the kind sitebot to %s", a.target, config.Name)
	case !ok:
		m, err := a.modelOfTarget()
		a.chosen.model = &m
		return cmp.Or(err, a.only("model", "sites", "site", "prompts", "local-prompt"))
	}
	return a.chooseTarget(t)
}

// chooseTarget takes a target of the configuration, or one in a short form.
func (a *classifyAsk) chooseTarget(t config.Target) error {
	switch t.Kind {
	case config.ModelTarget:
		a.chosen.model = &t.Model
		return a.only("model", "sites", "site", "prompts", "local-prompt")
	case config.ClassifierTarget:
		a.chosen.node, a.chosen.site, a.chosen.places = t.Node, cmp.Or(a.sites.site, t.Site.Name), []config.Site{t.Site}
		return a.only("sites", "prompts", "examples")
	case config.SiteTarget:
		a.chosen.target, a.chosen.site = &t, cmp.Or(a.sites.site, t.Site.Name)
		return a.only("sites", "prompts", "examples")
	case config.HTTPTarget:
		a.chosen.target = &t
		return a.only("model", "sites", "site", "prompts", "local-prompt", "examples")
	}
	if a.model != "" {
		m, err := a.setup.ModelNamed(a.model, "model", setup.Names(a.config.Models))
		if err != nil {
			return err
		}
		t.Model = m
	}
	a.chosen.target = &t
	return a.only("sites", "site", "prompts", "local-prompt", "examples")
}

// modelOfTarget reads a target that is none of the configuration's as the name of a model.
func (a *classifyAsk) modelOfTarget() (config.Model, error) {
	if _, named := a.config.Models[a.target]; !named && a.target != config.Lexical && !strings.Contains(a.target, ":") {
		known := slices.Concat(setup.Names(a.config.Targets), setup.Names(a.config.Models), config.ClassifierNodes(), []string{config.Lexical})
		return config.Model{}, usage("there is no target called %q: %s; or write PROVIDER:MODEL, flow:FILE or site:FOLDER#NAME",
			a.target, source.Suggest(a.target, known))
	}
	return a.setup.ModelNamed(a.target, "target", setup.Names(a.config.Targets))
}

// only refuses flags that have no effect on what was chosen.
func (a *classifyAsk) only(without ...string) error {
	given := map[string]bool{
		"model": a.target != "" && a.model != "", "examples": a.examples != "", "sites": a.sites.dir != "", "site": a.sites.site != "",
		"prompts": a.sites.prompts != "", "local-prompt": a.sites.localPrompt,
	}
	for _, flag := range without {
		switch {
		case !given[flag]:
		case flag == "model":
			return usage("--target %s and --model exclude each other: --model is for what has a model inside, such as a chatbot or a flow", a.target)
		case flag == "examples":
			return usage("--examples is for lexical and for models: %s has its own prompt", a.target)
		default:
			return usage("--%s is for a node of the chatbot: it has no effect on %s; add --target intent-classifier or skill-selector", flag,
				cmp.Or(a.target, a.model))
		}
	}
	return nil
}
