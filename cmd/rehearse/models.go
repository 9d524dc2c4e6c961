package main

import (
	"os"

	"rehearse/internal/config"
	"rehearse/internal/llm"
	"rehearse/internal/redact"
)

// models opens models by their names in a configuration, or by PROVIDER:MODEL, each once, with shared limits. Nothing that they say, nor their
// errors, has a secret of the environment in it.
type models struct {
	wiring *wiring
	opened map[string]llm.Model
}

// newModels reads the configuration at path; empty means that there is none.
func newModels(env *Env, path string) (*models, error) {
	w := &wiring{env: env, flags: &runFlags{}, secrets: redact.New(env.Environ), tape: &tape{}}
	if path != "" {
		var err error
		if w.config, err = config.Load(path); err != nil {
			return nil, &exitError{exitUsage, err}
		}
	}
	w.models = llm.Options{Getenv: env.Getenv, Transport: llm.Transport(), ReadFile: os.ReadFile, Limits: llm.NewLimits()}
	return &models{w, map[string]llm.Model{}}, nil
}

// named opens the model of that name.
func (m *models) named(name string) (llm.Model, error) {
	if model, ok := m.opened[name]; ok {
		return model, nil
	}
	c, err := m.wiring.modelNamed(name, "model", sortedNames(m.wiring.config.Models))
	if err != nil {
		return nil, err
	}
	model, err := m.wiring.open(c)
	if err != nil {
		return nil, err
	}
	m.opened[name] = &discreet{model, m.wiring.secrets}
	return m.opened[name], nil
}
