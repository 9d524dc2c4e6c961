package wire

import (
	"cmp"

	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// Playing says who plays a test's simulated user.
type Playing struct {
	// Own is the user's own model; it goes before Name, the requested one, and that before the configuration's. The
	// last resort is the judge.
	Own, Name string
	Judging   Judging
	Call      Call
}

// player finds the model that plays a user.
func (s *Setup) player(p Playing) (config.Model, error) {
	if name := cmp.Or(p.Own, p.Name); name != "" {
		return s.ModelNamed(name, "user", Names(s.config.Models))
	}
	if s.config.User != nil {
		return *s.config.User, nil
	}
	found, err := s.judges(p.Judging)
	return found.primary, err
}

// User opens the model that plays a user, and returns its configuration.
func (s *Setup) User(p Playing) (llm.Model, config.Model, error) {
	s.opening.Lock()
	defer s.opening.Unlock()
	m, err := s.player(p)
	if err != nil {
		return nil, m, err
	}
	model, err := s.open(m, p.Call)
	return model, m, err
}

// UserDependencies returns the model that plays a user.
func (s *Setup) UserDependencies(p Playing) ([]Dependency, error) {
	m, err := s.player(p)
	if err != nil || s.recording.Playing() {
		return nil, err
	}
	return []Dependency{s.dependency(m)}, nil
}

// UserDefinition returns everything that decides what a user's model says, as a value that JSON can hold.
func (s *Setup) UserDefinition(p Playing) (any, error) {
	m, err := s.player(p)
	return defined(m), err
}
