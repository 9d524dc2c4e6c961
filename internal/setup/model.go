package setup

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"rehearse/internal/config"
	"rehearse/internal/llm"
	"rehearse/internal/source"
	"rehearse/internal/suite"
)

// Call says how often a failed request is tried again and how long one may take. The zero value leaves both to the configuration.
type Call struct {
	// tries is one more than the retries; 0 leaves them open. A Call is the key of what was opened, so it has no pointers.
	tries   int
	timeout time.Duration
}

// CallOf returns how a test wants its requests to be made.
func CallOf(e suite.Execution) Call {
	c := Call{timeout: e.Timeout}
	if e.Retries != nil {
		c.tries = *e.Retries + 1
	}
	return c
}

// of returns the model with the call's retries and time limit.
func (c Call) of(m config.Model) config.Model {
	m.Retries, m.Timeout = c.retries(m.Retries), cmp.Or(c.timeout, m.Timeout)
	return m
}

// retries returns the call's retries, or else those of the configuration.
func (c Call) retries(configured *int) *int {
	if c.tries == 0 {
		return configured
	}
	return new(c.tries - 1)
}

// modelKey names an opened model: the configuration that knows its name, the name, and how it is asked.
type modelKey struct {
	config, name string
	call         Call
}

// Model opens the model of that name in the configuration, or PROVIDER:MODEL. Its replies have no secrets in them.
func (s *Setup) Model(name string) (llm.Model, error) {
	s.opening.Lock()
	defer s.opening.Unlock()
	return s.modelCalled(name, Call{})
}

// modelCalled opens a model by its name, once for every way of asking it.
func (s *Setup) modelCalled(name string, call Call) (llm.Model, error) {
	key := modelKey{s.config.Path, name, call}
	if model, ok := s.named[key]; ok {
		return model, nil
	}
	m, err := s.ModelNamed(name, "model", Names(s.config.Models))
	if err != nil {
		return nil, err
	}
	model, err := s.open(m, call)
	if err == nil {
		s.named[key] = model
	}
	return model, err
}

// OpenModel opens a model that was looked up or made. Each call opens it anew, with the limits of its address shared.
func (s *Setup) OpenModel(m config.Model) (llm.Model, error) { return s.open(m, Call{}) }

// open opens a model, behind the recording if there is one.
func (s *shared) open(m config.Model, call Call) (llm.Model, error) {
	if s.tape.playing != nil {
		return s.tape.playing.As(m.String()), nil
	}
	model, err := llm.Open(call.of(m), s.models)
	if err != nil {
		return nil, modelError(err)
	}
	return s.taped(m.String(), model), nil
}

// taped stands for a model, or a server that is asked like one: the recording that is played, or the model behind the one that is made.
func (s *shared) taped(name string, m llm.Model) llm.Model {
	if s.tape.playing != nil {
		return s.tape.playing.As(name)
	}
	return s.tape.record(name, &redactingModel{m, s.secrets})
}

// ModelNamed finds a model by its name in the configuration, or reads PROVIDER:MODEL. What says what it is for, known which other names
// could have been meant.
func (s *Setup) ModelNamed(name, what string, known []string) (config.Model, error) {
	if m, ok := s.config.Models[name]; ok {
		return m, nil
	}
	m, err := llm.ParseModel(name)
	switch {
	case err == nil:
		return m, nil
	case !strings.Contains(name, ":") && len(known) > 0:
		return config.Model{}, source.Invalid("there is no %s called %q in %s: %s", what, name, s.config.Path, source.Suggest(name, known))
	}
	return config.Model{}, source.Invalid("%s: %w", what, err)
}

// describe writes parameters as a part of a key.
func describe(r llm.Request) string {
	data, err := json.Marshal(r)
	if err != nil {
		return ""
	}
	return string(data)
}

// Names returns the names of a table in order.
func Names[V any](table map[string]V) []string { return slices.Sorted(maps.Keys(table)) }
