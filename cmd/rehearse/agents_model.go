package main

import (
	"cmp"
	"fmt"
	"strings"

	"rehearse/internal/config"
	"rehearse/internal/llm"
)

// openMain opens the model that talks.
func (a *agents) openMain() (llm.Model, error) {
	w := &wiring{env: a.env}
	path := a.flags.config
	if path == "" {
		path = config.Find(folderOf(cmp.Or(a.flags.flows, a.flags.localSites())))
	}
	if path != "" {
		var err error
		if w.config, err = config.Load(path); err != nil {
			return nil, &exitError{exitUsage, err}
		}
	}
	a.config = w.config
	var err error
	if a.main, err = w.modelNamed(a.flags.model, "model", sortedNames(w.config.Models)); err != nil {
		return nil, err
	}
	model, err := a.open(a.main)
	a.named[a.main.Name] = model
	return model, err
}

func (a *agents) open(m config.Model) (llm.Model, error) {
	model, err := llm.Open(m, a.models)
	if err != nil {
		return nil, modelError(err)
	}
	return &discreet{model, a.secrets}, nil
}

// maxNamed bounds how many models tests may open.
const maxNamed = 64

// modelNamed returns another model of the main model's provider, for the test endpoint. A file stays the file that --model says.
func (a *agents) modelNamed(name string) (llm.Model, error) {
	m := a.main
	if provider, rest, ok := strings.Cut(name, ":"); ok && (provider == m.Provider || isProvider(provider)) {
		if provider != m.Provider {
			return nil, fmt.Errorf("%q is of another provider: this server has models of %s", name, m.Provider)
		}
		name = rest
	}
	if m.Provider == "scripted" || m.Provider == "cassette" {
		file, _, _ := strings.Cut(m.Name, "#")
		if asked, _, _ := strings.Cut(name, "#"); asked != file {
			return nil, fmt.Errorf("this server plays %s only: choose from it with %s#NAME", file, file)
		}
	}
	m.Name = name
	a.mu.Lock()
	defer a.mu.Unlock()
	if model, ok := a.named[name]; ok {
		return model, nil
	}
	if len(a.named) >= maxNamed {
		return nil, fmt.Errorf("%d models are open already: use one of them, or restart the server", maxNamed)
	}
	model, err := a.open(m)
	if err == nil {
		a.named[name] = model
	}
	return model, err
}

func isProvider(name string) bool {
	for _, p := range llm.Providers() {
		if p.Name == name {
			return true
		}
	}
	return false
}
