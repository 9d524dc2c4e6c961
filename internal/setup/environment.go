package setup

import (
	"fmt"
	"strings"
)

// Getenv returns a variable of the environment, empty when it is not set. A submitted run sees those that it may read.
func (s *shared) Getenv(name string) string {
	value, _ := s.lookupEnv(name)
	return value
}

func (s *shared) lookupEnv(name string) (string, bool) {
	if s.LookupEnv == nil || s.Submitted != nil && !s.Submitted.mayRead(name) || s.Files.Bounded() && ofProcess(name) {
		return "", false
	}
	return s.LookupEnv(name)
}

// ownEnv returns a variable that the program itself names, such as that of a provider's key.
func (s *shared) ownEnv(name string) string {
	if s.LookupEnv == nil {
		return ""
	}
	value, _ := s.LookupEnv(name)
	return value
}

// needed returns an error for variables that are not set although what is to be opened takes them in. Playback needs none, because nothing is
// asked.
func (s *shared) needed(what string, unset []string) error {
	if len(unset) == 0 || s.tape.playing != nil {
		return nil
	}
	return fmt.Errorf("%s: the environment variable %s is not set: set it, or write ${{ %s:-FALLBACK }}", what, strings.Join(unset, " and "), unset[0])
}

// secret returns a variable that configuration names for a secret, empty when it is not set.
func (s *shared) secret(variable string) string {
	s.secrets.Named(variable)
	return s.Getenv(variable)
}
