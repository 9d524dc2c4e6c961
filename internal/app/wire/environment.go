package wire

import (
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
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
	return s.anyEnv(name)
}

// ownEnv returns a variable that the program itself names, such as that of a provider's key.
func (s *shared) ownEnv(name string) string {
	if s.LookupEnv == nil {
		return ""
	}
	value, _ := s.anyEnv(name)
	return value
}

// anyEnv looks up a variable of the process, else of the files that configurations name.
func (s *shared) anyEnv(name string) (string, bool) {
	if value, set := s.LookupEnv(name); set {
		return value, true
	}
	s.lending.RLock()
	defer s.lending.RUnlock()
	value, set := s.lent[name]
	return value.text, set
}

// ReadEnvFile reads a file of variables such as .env, in the form of os.Environ.
func ReadEnvFile(path string) ([]string, error) { return config.ReadEnvFile(source.Files{}, path) }

// lentValue is what a file of variables gives one, with the configuration that names the file.
type lentValue struct{ text, by string }

// lend makes the variables of a configuration's file known, as everything that is opened shares one environment. Two
// configurations that give one variable two values are refused: one of them would be asked with the key of the other.
func (s *shared) lend(c config.File) error {
	if s.LookupEnv == nil {
		return nil
	}
	s.lending.Lock()
	defer s.lending.Unlock()
	var added []string
	for _, variable := range c.Variables {
		name, value, _ := strings.Cut(variable, "=")
		if _, set := s.LookupEnv(name); set {
			continue
		}
		if known, ok := s.lent[name]; ok {
			if known.text != value && known.by != c.Path {
				return source.Invalid(
					"the files of env_file in %s and %s give %s two values: run their suites one after the other",
					known.by, c.Path, name)
			}
			if known.text == value {
				continue
			}
		}
		s.lent[name] = lentValue{value, c.Path}
		added = append(added, variable)
	}
	s.secrets.Variables(added...)
	return nil
}

// needed returns an error for variables that are not set although what is to be opened takes them in. Playback needs
// none, because nothing is asked.
func (s *shared) needed(what string, unset []string) error {
	if len(unset) == 0 || s.recording.Playing() {
		return nil
	}
	return fmt.Errorf("%s: the environment variable %s is not set: set it, or write ${{ %s:-FALLBACK }}", what,
		strings.Join(unset, " and "), unset[0])
}

// secret returns a variable that configuration names for a secret, empty when it is not set.
func (s *shared) secret(variable string) string {
	s.secrets.Named(variable)
	return s.Getenv(variable)
}
