package wire

import (
	"maps"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
)

// LoadFlow loads the flow of a target.
func LoadFlow(files source.Files, c target.FlowConfig) (*flow.Flow, error) {
	library, err := flow.OpenLibrary(files, c.Path)
	if err != nil {
		return nil, source.AsInvalid(err)
	}
	flows := library.Flows()
	switch {
	case c.ID != "":
		f, err := library.Find(c.ID)
		if err != nil {
			return nil, source.Invalid("%s: %w", c.Path, err)
		}
		return f, nil
	case len(flows) > 1:
		ids := make([]string, 0, len(flows))
		for _, f := range flows {
			ids = append(ids, f.ID)
		}
		return nil, source.Invalid("%s holds %d flows: choose one with `flow_id:`, or flow:%s#ID: %s", c.Path,
			len(flows), c.Path, strings.Join(ids, ", "))
	}
	return flows[0], nil
}

// KnownFlow returns the flow of a target as it is defined here; nil when the target is none, or only a server knows its
// flow. It asks nothing. A name that is no target has no flow either: opening the target says so.
func (s *Setup) KnownFlow(name string) (*flow.Flow, error) {
	s.opening.Lock()
	defer s.opening.Unlock()
	if _, ok := s.made[name]; ok {
		return nil, nil
	}
	t, err := s.TargetNamed(name)
	if err != nil {
		return nil, nil
	}
	if defined, ok := target.FlowOf(t); ok {
		f, err := LoadFlow(s.Files, defined)
		if err == nil {
			s.NamesVariables(f.Variables()...)
		}
		return f, err
	}
	return nil, nil
}

// FlowID returns the id of the flow that a target follows, here or at a server; empty where nobody here knows of one.
func (s *Setup) FlowID(name string) string {
	if f, err := s.KnownFlow(name); err == nil && f != nil {
		return f.ID
	}
	s.opening.Lock()
	defer s.opening.Unlock()
	if _, ok := s.made[name]; ok {
		return ""
	}
	t, err := s.TargetNamed(name)
	if err != nil {
		return "" // opening it says so
	}
	if t.Follows != nil {
		if f, err := LoadFlow(s.Files, target.FlowConfig{Path: t.Follows.Path, ID: t.Follows.ID}); err == nil {
			return f.ID
		}
		return t.Follows.ID
	}
	return target.FlowConfigOf(t).ID
}

// Flows returns the flows of a file or folder; without one those of the targets of the configuration, each once. A
// target whose flow cannot be read is left out and told of.
func (s *Setup) Flows(path string) ([]*flow.Flow, error) {
	if path != "" {
		library, err := flow.OpenLibrary(source.Files{}, path)
		if err != nil {
			return nil, source.AsInvalid(err)
		}
		return library.Flows(), nil
	}
	var flows []*flow.Flow
	for _, name := range slices.Sorted(maps.Keys(s.config.Targets)) {
		f, err := s.KnownFlow(name)
		switch {
		case err != nil:
			s.Warn("target " + name + ": " + err.Error())
		case f != nil && !slices.ContainsFunc(flows, func(other *flow.Flow) bool { return other.ID == f.ID }):
			flows = append(flows, f)
		}
	}
	return flows, nil
}
