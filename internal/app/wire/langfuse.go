package wire

import (
	"errors"

	"github.com/rehearse-dev/rehearse/internal/model/langfuse"
)

// Langfuse returns the client of the Langfuse that the environment names. The error says in one line which variables
// are missing.
func (s *Setup) Langfuse() (*langfuse.Client, error) {
	if langfuse.Disabled(s.Getenv) {
		return nil, errors.New(langfuse.EnabledEnv + " switches Langfuse off: set it to true, or use files")
	}
	c, err := langfuse.FromEnv(s.Getenv)
	if err != nil {
		return nil, err
	}
	c.Transport = s.outside
	return langfuse.New(c)
}
