// Package wire is the only place that opens things: configurations, models, embedders, judges, targets, chatbots,
// flows, knowledge bases, stores and Langfuse. Everything that one Setup opens shares one set of limits, one redactor,
// one transport and one recording.
package wire

import (
	"cmp"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/knowledge"
	"github.com/rehearse-dev/rehearse/internal/app/wire/chatbot"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/httpclient"
	"github.com/rehearse-dev/rehearse/internal/base/redact"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/judge"
	"github.com/rehearse-dev/rehearse/internal/eval/recording"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// StateDir is the default folder of runs and of the store.
const StateDir = ".rehearse"

// Setup opens what a configuration names, each thing once. It is safe for concurrent use. Close it.
type Setup struct {
	*shared
	config config.File
	// made are targets that no configuration describes, by name.
	made map[string]Maker
}

// Maker makes a target of the parts that a test's call asks for.
type Maker func(p target.Parts) (runner.Target, error)

// shared is what the setups of all configurations have in common.
type shared struct {
	Options
	secrets *redact.Redactor
	models  llm.Options
	// inside carries what the process's own addresses are asked.
	inside *http.Transport
	// outside carries what addresses are asked that configurations and suites name, client uses it. guard is what
	// refuses private ones; it may be nil.
	outside  http.RoundTripper
	client   *http.Client
	guard    *httpclient.PublicOnly
	refusing refusals
	// recording is made or played; it also removes secrets from replies.
	recording *recording.Recording

	// lending guards lent, the variables of the files that configurations name.
	lending sync.RWMutex
	lent    map[string]lentValue

	// telling guards told, the problems that targets found while they were asked.
	telling sync.Mutex
	told    []string

	// opening guards the fields below. Exported methods hold it while they open something.
	opening sync.Mutex
	setups  map[string]*Setup
	named   map[modelKey]llm.Model
	targets map[targetKey]runner.Target
	// answers are open files of answers by their definitions.
	answers map[string]*target.Answers
	// libraries are the open knowledge bases by folder, sites the open chatbots by place.
	libraries map[string]*knowledge.Library
	sites     map[sitesKey]*chatbot.Sites
	// last is what is closed in the end, besides the fields of this struct.
	last []func() error
	// sources are the places of sites, which may not be opened yet.
	sources chatbot.Sources

	// draws are those of the judges' calls.
	draws *judge.Draws

	// tools serves tools over MCP to the agents of targets that have some.
	tools target.ToolHost

	// storing guards the stores by path. They have a lock of their own, so that they can be opened concurrently with
	// the rest.
	storing sync.Mutex
	stores  map[string]*store.Store
}

// Open reads the configuration and opens the recording, which it repairs. Everything else is opened on first use.
func Open(o Options) (*Setup, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &shared{
		Options: o, secrets: o.Secrets, setups: map[string]*Setup{}, named: map[modelKey]llm.Model{},
		targets: map[targetKey]runner.Target{}, answers: map[string]*target.Answers{},
		libraries: map[string]*knowledge.Library{},
		sites:     map[sitesKey]*chatbot.Sites{}, stores: map[string]*store.Store{},
		lent: map[string]lentValue{},
	}
	if s.secrets == nil {
		s.secrets = newRedactor(o.Environ)
	}
	s.draws = judge.NewDraws(s.secrets.Text)
	s.models = llm.Options{
		Getenv: s.ownEnv, ReadFile: o.Files.ReadFile, Files: o.Files, Limits: cmp.Or(o.Limits, llm.NewLimits()),
		Mask: s.secrets.Text, Warn: s.warnOnce,
	}
	s.guardOutside()
	s.client = httpclient.Client(s.outside)
	s.sources = chatbot.Sources{
		Files: o.Files, Getenv: s.Getenv, Transport: s.outside, Secrets: s.secrets, FilesOnly: o.Submitted != nil,
	}
	first, err := s.configured(o.Config)
	if err != nil {
		return nil, err
	}
	s.recording, err = recording.Open(recording.Options{
		Record: o.Record, Playback: o.Playback, Append: o.Append, Dry: o.Dry, Secrets: s.secrets, Warn: s.ReportProblem,
	})
	return first, err
}

// HasConfig reports whether there is a configuration in a folder of the disk or above it.
func HasConfig(folder string) bool { return config.Find(source.Files{}, folder) != "" }

// At returns the setup for a folder: with the configuration Options.Config, else with the nearest one at or above the
// folder.
func (s *Setup) At(folder string) (*Setup, error) {
	if s.Options.Config != "" {
		return s, nil
	}
	s.opening.Lock()
	defer s.opening.Unlock()
	return s.configured(config.Find(s.Files, folder))
}

// configured returns the setup of a configuration file; an empty path means no configuration.
func (s *shared) configured(path string) (*Setup, error) {
	if known, ok := s.setups[path]; ok {
		return known, nil
	}
	found := &Setup{shared: s}
	if path != "" {
		var err error
		found.config, err = config.Load(s.Files, path, target.Kinds(), s.lookupNamed, s.passedOver()...)
		err = cmp.Or(err, s.lend(found.config))
		s.secrets.Read(found.config.Document)
		s.secrets.Public(found.config.PublicEnv...)
		if err != nil {
			return nil, cmp.Or(s.Refused(), source.AsInvalid(err))
		}
		s.namesOf(found.config)
	}
	if len(s.Targets) > 0 {
		found = found.With(s.Targets)
	}
	s.setups[path] = found
	return found, nil
}

// Config returns the configuration. Do not change it.
func (s *Setup) Config() config.File { return s.config }

// With returns a setup whose configuration has additional targets.
func (s *Setup) With(targets map[string]config.Target) *Setup {
	own := s.config
	own.Targets = map[string]config.Target{}
	for _, some := range []map[string]config.Target{s.config.Targets, targets} {
		maps.Copy(own.Targets, some)
	}
	return &Setup{shared: s.shared, config: own, made: s.made}
}

// Making returns a setup with those targets besides the ones that its configuration describes. A name that both have is
// the made one's.
func (s *Setup) Making(made map[string]Maker) *Setup {
	return &Setup{shared: s.shared, config: s.config, made: made}
}

// Makes reports whether a target of a name is made (Making).
func (s *Setup) Makes(name string) bool {
	_, ok := s.made[name]
	return ok
}

// Suites returns the options to load suites with. What they name is learned as secret.
func (s *shared) Suites() suite.Options {
	o := Suites(s.secrets, s.lookupNamed)
	learn := o.Seen
	o.Seen = func(v source.Value) { learn(v); s.namesIn(v, "") }
	o.Files = s.Files
	return o
}

// Graded makes models that are opened later give their replies as they are: a check on what an agent must not tell has
// to see it. Whoever keeps or shows a reply then masks it. Recordings are masked in any case.
func (s *shared) Graded() { s.recording.Unmask() }

// Secrets returns what keeps secrets out of what is written.
func (s *shared) Secrets() *redact.Redactor { return s.secrets }

// Private returns what takes secrets, and what else is nobody's business, out of artifacts of this configuration's
// conversations.
func (s *Setup) Private() *redact.Private { return s.secrets.Private(s.config.Redact...) }

// Recorded reports whether exchanges are recorded or played back. Then remembered verdicts must not replace calls.
func (s *shared) Recorded() bool { return !s.recording.Off() }

// closing keeps what is to be closed in the end. Its caller holds opening.
func (s *shared) closing(closeIt func() error) { s.last = append(s.last, closeIt) }

// Close closes everything that was opened.
func (s *Setup) Close() error {
	s.opening.Lock()
	defer s.opening.Unlock()
	faults := []error{s.tools.Close()}
	for _, closeIt := range s.last {
		faults = append(faults, closeIt())
	}
	for _, opened := range s.sites {
		faults = append(faults, opened.Close())
	}
	for _, library := range s.libraries {
		faults = append(faults, library.Close())
	}
	s.storing.Lock()
	defer s.storing.Unlock()
	for _, opened := range s.stores {
		faults = append(faults, opened.Close())
	}
	faults = append(faults, s.recording.Close())
	s.client.CloseIdleConnections()
	s.inside.CloseIdleConnections()
	return errors.Join(faults...)
}

// modelError marks a missing key as something that cannot be done; other errors, such as an unknown provider, are
// mistakes.
func modelError(err error) error {
	if fault, ok := errors.AsType[*llm.Error](err); ok && fault.Fault == llm.Unauthorized {
		return err
	}
	return source.Invalid("open a model: %w", err)
}
