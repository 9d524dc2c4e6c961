// Package setup is the only place that opens things: configurations, models, embedders, judges, targets, chatbots, flows, knowledge
// bases, stores and Langfuse. Whatever is opened by one Setup shares one set of limits, one redactor, one transport and one recording.
package setup

import (
	"errors"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"rehearse/internal/config"
	"rehearse/internal/knowledge"
	"rehearse/internal/llm"
	"rehearse/internal/redact"
	"rehearse/internal/runner"
	"rehearse/internal/source"
	"rehearse/internal/store"
)

// StateDir is where runs and the store are kept unless a configuration says otherwise.
const StateDir = ".rehearse"

// Options say where things are opened from, and how. The zero value has no environment and no configuration.
type Options struct {
	// Environ is the environment as os.Environ gives it.
	Environ []string
	// LookupEnv finds a variable of the environment.
	LookupEnv func(name string) (string, bool)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Log is told what chatbots and flows do; nil discards it.
	Log *slog.Logger
	// Warn is told in a sentence what stops nothing; nil discards it. It gets no secrets.
	Warn func(text string)
	// Config is the configuration file of everything. Without one each place has the nearest above it (At).
	Config string
	// Model answers inside flows and chatbots instead of the model that they name: a name of the configuration, or PROVIDER:MODEL.
	Model string
	// LocalPrompt leaves Langfuse's prompts out of chatbots.
	LocalPrompt bool
	// Record is a file for every exchange with a model, Playback one that answers in the models' place. One of them is set, or none.
	Record, Playback string
	// Append lets a recording that exists go on.
	Append bool
}

// Setup opens what a configuration names, each thing once. It is safe for concurrent use. Close it.
type Setup struct {
	*shared
	config config.File
}

// shared is what the setups of all configurations of one process have in common.
type shared struct {
	Options
	secrets *redact.Redactor
	models  llm.Options
	client  *http.Client
	tape    *tape

	// opening guards what follows. Exported methods hold it while they open something.
	opening sync.Mutex
	setups  map[string]*Setup
	named   map[modelKey]llm.Model
	targets map[targetKey]runner.Target
	// libraries are the knowledge bases by folder, sites the chatbots by place.
	libraries map[string]*knowledge.Library
	sites     map[sitesKey]*Sites

	// storing guards the stores, which are opened beside the rest, by their paths.
	storing sync.Mutex
	stores  map[string]*store.Store
}

// Open reads the configuration and opens the recording. Everything else is opened when it is asked for.
func Open(o Options) (*Setup, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &shared{
		Options: o, secrets: redact.New(o.Environ), setups: map[string]*Setup{}, named: map[modelKey]llm.Model{},
		targets: map[targetKey]runner.Target{}, libraries: map[string]*knowledge.Library{}, sites: map[sitesKey]*Sites{}, stores: map[string]*store.Store{},
	}
	transport := llm.Transport()
	s.models = llm.Options{Getenv: s.Getenv, Transport: transport, ReadFile: os.ReadFile, Limits: llm.NewLimits()}
	s.client = &http.Client{Transport: transport, CheckRedirect: noRedirect}
	first, err := s.configured(o.Config)
	if err != nil {
		return nil, err
	}
	s.tape, err = openTape(o)
	return first, err
}

// noRedirect leaves a redirect as the answer: following one would carry keys and conversations to another host.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// At returns the setup of the configuration that applies to a folder: that of Options.Config, or the nearest at or above the folder.
func (s *Setup) At(folder string) (*Setup, error) {
	if s.Options.Config != "" {
		return s, nil
	}
	s.opening.Lock()
	defer s.opening.Unlock()
	return s.configured(config.Find(folder))
}

// configured returns the setup of a configuration file; empty stands for none.
func (s *shared) configured(path string) (*Setup, error) {
	if known, ok := s.setups[path]; ok {
		return known, nil
	}
	found := &Setup{shared: s}
	if path != "" {
		var err error
		if found.config, err = config.Load(path); err != nil {
			return nil, source.AsInvalid(err)
		}
	}
	s.setups[path] = found
	return found, nil
}

// Config returns the configuration. The caller does not change it.
func (s *Setup) Config() config.File { return s.config }

// With returns a setup whose configuration has those targets besides its own.
func (s *Setup) With(targets map[string]config.Target) *Setup {
	own := s.config
	own.Targets = map[string]config.Target{}
	for _, some := range []map[string]config.Target{s.config.Targets, targets} {
		for name, t := range some {
			own.Targets[name] = t
		}
	}
	return &Setup{shared: s.shared, config: own}
}

// Getenv returns a variable of the environment, or nothing.
func (s *shared) Getenv(name string) string {
	if s.LookupEnv == nil {
		return ""
	}
	value, _ := s.LookupEnv(name)
	return value
}

// Secrets keeps the secrets of the environment out of what is written.
func (s *shared) Secrets() *redact.Redactor { return s.secrets }

// warn tells of what stops nothing.
func (s *shared) warn(text string) {
	if s.Warn != nil {
		s.Warn(s.secrets.Text(text))
	}
}

// Recorded reports whether exchanges are recorded or played back; remembered verdicts then do not stand in for calls.
func (s *shared) Recorded() bool { return s.tape != nil && !s.tape.off() }

// Close lets go of everything that was opened.
func (s *Setup) Close() error {
	s.opening.Lock()
	defer s.opening.Unlock()
	var faults []error
	for _, opened := range s.sites {
		faults = append(faults, opened.close())
	}
	for _, library := range s.libraries {
		faults = append(faults, library.Close())
	}
	s.storing.Lock()
	defer s.storing.Unlock()
	for _, opened := range s.stores {
		faults = append(faults, opened.Close())
	}
	faults = append(faults, s.tape.close())
	s.client.CloseIdleConnections()
	return errors.Join(faults...)
}

// modelError tells a mistake, such as a provider that there is not, from a missing key, without which something cannot be done.
func modelError(err error) error {
	if fault, ok := errors.AsType[*llm.Error](err); ok && fault.Fault == llm.Unauthorized {
		return err
	}
	return source.Invalid("open a model: %w", err)
}
