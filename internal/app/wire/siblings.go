package wire

import (
	"fmt"
	"strings"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// maxSiblings bounds the models that callers may open.
const maxSiblings = 64

// Siblings are a model and other models of its provider, which callers may choose by name. They are safe for concurrent
// use.
type Siblings struct {
	setup *Setup
	first config.Model
	mu    sync.Mutex
	named map[string]llm.Model
}

// Siblings opens a model and returns it with its siblings, which are opened when they are chosen.
func (s *Setup) Siblings(first config.Model) (llm.Model, *Siblings, error) {
	model, err := s.open(first, Call{})
	if err != nil {
		return nil, nil, err
	}
	return model, &Siblings{setup: s, first: first, named: map[string]llm.Model{first.Name: model}}, nil
}

// Model returns the model of that name. For a script or recording, the file stays that of the first model.
func (s *Siblings) Model(name string) (llm.Model, error) {
	m := s.first
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
	s.mu.Lock()
	defer s.mu.Unlock()
	if model, ok := s.named[name]; ok {
		return model, nil
	}
	if len(s.named) >= maxSiblings {
		return nil, fmt.Errorf("%d models are open already: use one of them, or restart the server", maxSiblings)
	}
	model, err := s.setup.open(m, Call{})
	if err == nil {
		s.named[name] = model
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
