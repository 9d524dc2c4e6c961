package wire

import (
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/base/httpclient"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// Submitted are the rules for a run that somebody else has submitted. The zero value allows nothing.
type Submitted struct {
	// AllowPrivate lets the run name private addresses, and reach them.
	AllowPrivate bool `json:"allow_private,omitempty"`
	// AllowEnv are patterns of the variables of the environment that the run may name, in the syntax of path.Match.
	AllowEnv []string `json:"allow_env,omitempty"`
}

// ofProcess reports whether a variable admits people and workers: it is the process's alone.
func ofProcess(name string) bool {
	switch name {
	case "REHEARSE_TOKEN", "REHEARSE_NATS", "REHEARSE_NATS_TOKEN", "REHEARSE_STORE", "REHEARSE_WEBHOOK_SECRET",
		"REHEARSE_SESSION_KEY":
		return true
	}
	return false
}

// mayRead reports whether a run may name a variable. What is of the process may not be named, whatever the patterns
// say.
func (s *Submitted) mayRead(name string) bool {
	return !ofProcess(name) && slices.ContainsFunc(s.AllowEnv, func(pattern string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	})
}

// The codes of a RefusedError.
const (
	RefusedCommands = "commands_refused"
	RefusedAddress  = "address_refused"
	RefusedEnv      = "env_refused"
)

// RefusedError says what a submitted run names and may not. It holds no value of a variable.
type RefusedError struct {
	// Code is one of the codes above. Message is a sentence, Hint says what to do.
	Code, Message, Hint string
}

// Error returns the sentence.
func (e *RefusedError) Error() string { return e.Message + " (" + e.Hint + ")" }

// passedOver returns the keys of a configuration that do not count. In the files of a run they are those of the process
// that reads it. Only a server lets its own runs reach private addresses.
func (s *shared) passedOver() []string {
	ofProcess := []string{"store", "server", "queue", "watches", "env_file"}
	switch {
	case s.Submitted != nil:
		return append(ofProcess, "api_private")
	case s.Files.Bounded():
		return ofProcess
	}
	return nil
}

// refusals are what was found that a submitted run names and may not, whether it starts programs, and an error of a
// file outside of its own. They are safe for concurrent use.
type refusals struct {
	mu        sync.Mutex
	variables []string
	addresses []string
	programs  bool
	outside   error
}

func (r *refusals) variable(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.variables = listed(r.variables, name)
}

func (r *refusals) address(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.addresses = listed(r.addresses, what)
}

// maxListed is how much of what is refused is listed.
const maxListed = 50

// listed adds a text to a list that does not have it.
func listed(all []string, text string) []string {
	if slices.Contains(all, text) || len(all) > maxListed {
		return all
	}
	return append(all, text)
}

// Refused returns, as a *RefusedError, what a submitted run names and may not, as far as it was read: variables and
// addresses.
func (s *shared) Refused() error {
	s.refusing.mu.Lock()
	defer s.refusing.mu.Unlock()
	switch r := &s.refusing; {
	case len(r.variables) > 0:
		return &RefusedError{
			RefusedEnv, "the run names variables of the environment that it may not read: " +
				shortList(slices.Sorted(slices.Values(r.variables))),
			"start the server with --allow-env for them, or leave them out",
		}
	case len(r.addresses) > 0:
		return &RefusedError{
			RefusedAddress, s.secrets.Text("the run names addresses that are not public: " + shortList(r.addresses)),
			"name a public address, or start the server with --allow-private",
		}
	}
	return nil
}

func shortList(all []string) string {
	if len(all) <= maxListed {
		return strings.Join(all, ", ")
	}
	return strings.Join(all[:maxListed], ", ") + " and more"
}

// StartsPrograms reports whether a submitted run names a program to be started, as far as it was read.
func (s *shared) StartsPrograms() bool {
	s.refusing.mu.Lock()
	defer s.refusing.mu.Unlock()
	return s.refusing.programs
}

// guardOutside makes what addresses that configurations and suites name are asked with: in a submitted run apart from
// the process's own.
func (s *shared) guardOutside() {
	s.inside = httpclient.Transport()
	s.models.Transport, s.outside = s.inside, s.inside
	if s.Submitted == nil {
		return
	}
	s.outside = s.Submitted.Transport(s.Environ)
	s.guard, _ = s.outside.(*httpclient.PublicOnly)
	s.models.Named = &llm.Named{Getenv: s.Getenv, Transport: s.outside}
}

// Transport returns what carries requests to addresses that a run names, in an environment in the form of os.Environ.
// Addresses in variables that the run may read are those of whoever started the process. The caller closes its idle
// connections in the end.
func (s *Submitted) Transport(environ []string) http.RoundTripper {
	if s.AllowPrivate {
		return httpclient.Transport()
	}
	var own []string
	for _, entry := range environ {
		if name, value, _ := strings.Cut(entry, "="); strings.Contains(value, "://") && s.mayRead(name) {
			own = append(own, value)
		}
	}
	return httpclient.NewPublicOnly(own...)
}

// environ returns the environment of a program with some configuration (redact.Redactor.Environ). One of a submitted
// run gets no secrets but those that it may read.
func (s *shared) environ(configuration source.Value) []string {
	all := s.secrets.Environ(configuration)
	if s.Submitted == nil {
		return all
	}
	harmless := s.secrets.Environ(source.Value{})
	return slices.DeleteFunc(all, func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return !slices.Contains(harmless, entry) && !s.Submitted.mayRead(name)
	})
}
