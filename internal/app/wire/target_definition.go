package wire

import (
	"path/filepath"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
)

// Definition returns everything that decides how a target answers, as values that JSON can hold: its own settings and,
// where it is made of models that it names, those of the configuration.
func (s *Setup) Definition(name string) (any, error) {
	if _, ok := s.made[name]; ok {
		return name, nil // whoever makes it knows
	}
	t, err := s.TargetNamed(name)
	if err != nil {
		return nil, err
	}
	return s.DefinitionOf(t), nil
}

// DefinitionOf is Definition for a target that may have no name.
func (s *Setup) DefinitionOf(t config.Target) any {
	t.Model = defined(t.Model)
	if target.Complete(t) {
		return t
	}
	t = target.Spelled(t)
	whole := []any{t, s.ModelDefinitions(), s.config.Embedder, s.Options.Model, s.Options.LocalPrompt}
	if c, ok := target.FlowOf(t); ok {
		whole = append(whole, s.aroundFlow(c)...)
	}
	return whole
}

// ModelDefinition returns a model as far as it decides replies.
func (s *Setup) ModelDefinition(m config.Model) config.Model { return defined(m) }

// ModelDefinitions returns the models of the configuration as far as they decide replies.
func (s *Setup) ModelDefinitions() map[string]config.Model {
	models := make(map[string]config.Model, len(s.config.Models))
	for name, m := range s.config.Models {
		models[name] = defined(m)
	}
	return models
}

// aroundFlow returns what decides the answers of a flow besides its own file: the files of the flows that it calls, and
// whom it may call. A flow that calls nothing, or cannot be read, has nothing around it.
func (s *Setup) aroundFlow(c target.FlowConfig) (parts []any) {
	f, err := LoadFlow(s.Files, c)
	if err != nil {
		return nil // opening it says so
	}
	for _, file := range f.Others() {
		if path, err := s.Files.Abs(file); err == nil {
			parts = append(parts, path)
		}
	}
	if f.Calls() {
		parts = append(parts, s.config.APIHosts, s.config.APIPrivate)
	}
	return parts
}

// defined returns a model as far as it decides replies: without prices and limits. Its file, if it has one, is named by
// its whole path.
func defined(m config.Model) config.Model {
	if file, _, _ := strings.Cut(m.Name, "#"); m.Dir != "" && filepath.Ext(file) != "" && !filepath.IsAbs(m.Name) {
		m.Name = filepath.Join(m.Dir, m.Name)
	}
	m.Dir, m.Price = "", config.Price{}
	m.RequestsPerMinute, m.TokensPerMinute, m.Concurrency = 0, 0, 0
	return m
}

// JudgeDefinition returns everything that decides how a judge judges, as values that JSON can hold.
func (s *Setup) JudgeDefinition(j Judging) (any, error) {
	found, err := s.judges(j)
	if err != nil {
		return nil, err
	}
	var models []config.Model
	for _, m := range found.all() {
		models = append(models, defined(m))
	}
	return []any{models, len(found.panel), found.samples, found.complexity, found.canary}, nil
}
