package wire

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/recording"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// Call has the retries and the time limit of a test's requests. The zero value leaves both to the configuration.
type Call struct {
	// tries is the retries plus one; 0 leaves them open. A Call is part of map keys, so it has no pointers.
	tries   int
	timeout time.Duration
}

// CallOf returns the retries and the time limit that a test asks for.
func CallOf(e suite.Execution) Call {
	c := Call{timeout: e.Timeout}
	if e.Retries != nil {
		c.tries = *e.Retries + 1
	}
	return c
}

// of returns the model configuration with the call's retries and time limit.
func (c Call) of(m config.Model) config.Model {
	m.Retries, m.Timeout = c.retries(m.Retries), cmp.Or(c.timeout, m.Timeout)
	return m
}

// retries returns the call's retries, else the configured ones.
func (c Call) retries(configured *int) *int {
	if c.tries == 0 {
		return configured
	}
	return new(c.tries - 1)
}

// modelKey identifies an open model: its configuration, its name and its call settings.
type modelKey struct {
	config, name string
	call         Call
}

// Model opens the model that the configuration knows by a name, or PROVIDER:MODEL. Its replies contain no secrets,
// unless they are graded.
func (s *Setup) Model(name string) (llm.Model, error) {
	s.opening.Lock()
	defer s.opening.Unlock()
	return s.modelCalled(name, Call{})
}

// modelCalled opens a model by its name, once for each Call.
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

// OpenModel opens a configured model. Each call opens it anew; models at the same address share their limits.
func (s *Setup) OpenModel(m config.Model) (llm.Model, error) { return s.open(m, Call{}) }

// open opens a model, wrapped in the recording if there is one.
func (s *Setup) open(m config.Model, call Call) (llm.Model, error) {
	if s.recording.Playing() {
		return recording.Collecting(llm.Traced(s.recording.Model(m.String(), nil), m)), nil
	}
	if err := s.needed("model "+m.String(), m.Unset); err != nil {
		return nil, err
	}
	m.Price = llm.PriceOf(m, s.config.Prices).Price
	model, err := llm.Open(call.of(m), s.models)
	if err != nil {
		return nil, modelError(err)
	}
	return recording.Collecting(s.recording.Model(m.String(), model)), nil
}

// ModelNamed finds a model by its name in the configuration, or reads PROVIDER:MODEL. For the error, what names the
// model's purpose, and known lists the names that could have been meant.
func (s *Setup) ModelNamed(name, what string, known []string) (config.Model, error) {
	if m, ok := s.config.Models[name]; ok {
		return m, nil
	}
	if model, address := config.CutAddress(name); address != "" {
		return config.Model{}, source.Invalid(
			"%s: only a target has an address behind @: name %s, and give its address as base_url", what, model)
	}
	m, err := llm.ParseModel(name)
	switch {
	case err == nil:
		return m, nil
	case !strings.Contains(name, ":") && len(known) > 0:
		return config.Model{}, source.Invalid("there is no %s called %q in %s: %s", what, name, s.config.Path,
			source.Suggest(name, known))
	}
	return config.Model{}, source.Invalid("%s: %w", what, err)
}

// describe writes parameters as a part of a key.
func describe(r any) string {
	data, err := json.Marshal(r)
	if err != nil {
		return ""
	}
	return string(data)
}

// Names returns the keys of a table in order.
func Names[V any](table map[string]V) []string { return slices.Sorted(maps.Keys(table)) }
