// Package langfusetest has a Langfuse for tests: it keeps datasets, runs, scores, prompts and traces in memory, and
// fails the test for every request and every answer that Langfuse's published API does not allow.
package langfusetest

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
)

// T is what of a testing.TB the server needs.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Cleanup(func())
}

// The keys that the server takes.
const (
	PublicKey = "pk-lf-0123456789"
	SecretKey = "sk-lf-abcdefghij"
)

// Server is a Langfuse. It is safe for concurrent use.
type Server struct {
	t T
	// URL is where it listens.
	URL string

	document *document
	mux      *http.ServeMux

	mu       sync.Mutex
	faults   []Fault
	observer func(*http.Request)
	requests []string
	version  string
	lean     bool
	// seconds makes the time of what is created: every creation is a second later than the one before.
	seconds  int
	datasets []object
	items    []object
	removed  []object
	runItems []object
	scores   []object
	prompts  []object
	spans    []Span
}

// object is JSON as it is answered.
type object = map[string]any

// New starts a server of version 3; it stops with the test.
func New(t T) *Server {
	t.Helper()
	s := &Server{t: t, mux: http.NewServeMux(), version: "3.150.0"}
	document, err := load()
	if err != nil {
		t.Errorf("langfusetest: %v", err)
	}
	s.document = document
	s.route()
	server := httptest.NewServer(s)
	s.URL = server.URL
	t.Cleanup(server.Close)
	return s
}

// Getenv is an environment in which the server and its keys are set, for langfuse.FromEnv.
func (s *Server) Getenv(name string) string {
	return map[string]string{
		"LANGFUSE_HOST": s.URL, "LANGFUSE_PUBLIC_KEY": PublicKey, "LANGFUSE_SECRET_KEY": SecretKey,
	}[name]
}

// SetVersion makes the server one of a version: from 4 on it has no runs, sessions and traces but experiments and
// observations.
func (s *Server) SetVersion(version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version = version
}

// LeanSessions makes sessions list their traces without input and output, as some versions do.
func (s *Server) LeanSessions() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lean = true
}

// OnAnswer has f called after each answer to a request.
func (s *Server) OnAnswer(f func(*http.Request)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.observer = f
}

// Requests returns the method and the address, without the host, of each request so far.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}
