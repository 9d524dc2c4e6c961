package wire

import (
	"maps"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/base/source"
)

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
