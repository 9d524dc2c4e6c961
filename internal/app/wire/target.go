package wire

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/app/wire/chatbot"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/eval/recording"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// targetKey distinguishes targets that tests call with different settings.
type targetKey struct {
	config, name string
	call         Call
}

// Target opens a target with the settings of a test, once for each setting. The name is one of the configuration,
// PROVIDER:MODEL, flow:FILE or site:FOLDER.
func (s *Setup) Target(name string, e suite.Execution) (runner.Target, error) {
	s.opening.Lock()
	defer s.opening.Unlock()
	if made, ok := s.made[name]; ok {
		t, err := made(s.parts(e))
		if err != nil {
			return nil, err
		}
		return recording.MeasureTarget(s.Metrics, "other", s.recording.Target(t)), nil
	}
	key := targetKey{s.config.Path, name, CallOf(e)}
	if t, ok := s.targets[key]; ok {
		return t, nil
	}
	c, err := s.TargetNamed(name)
	if err != nil {
		return nil, err
	}
	if err := s.needed("target "+name, s.config.Unset("targets", name)); err != nil {
		return nil, err
	}
	t, err := target.Open(c, s.parts(e))
	if err != nil {
		return nil, err
	}
	provider := c.Kind
	if c.Kind == "model" {
		provider = c.Model.Provider
	}
	t = recording.MeasureTarget(s.Metrics, provider, s.recording.Target(t))
	s.targets[key] = t
	return t, nil
}

// TargetNamed finds a target by its name in the configuration, or reads a short form.
func (s *Setup) TargetNamed(name string) (config.Target, error) {
	if t, ok := s.config.Targets[name]; ok {
		return t, s.unaddressed(name)
	}
	if t, ok := target.Kinds().Short(name); ok {
		if s.TargetURL != "" && strings.Contains(name, "://") {
			return config.Target{}, source.Invalid(
				"--target-url is for targets written as PROVIDER:MODEL: %s is an address itself", text.Address(name))
		}
		if s.Options.Model != "" {
			m, err := s.ModelNamed(s.Options.Model, "model", Names(s.config.Models))
			if err != nil {
				return config.Target{}, err
			}
			t.Model = m
		}
		return t, nil
	}
	m, err := s.modelOfTarget(name)
	return target.OfModel(m), err
}

// modelOfTarget returns the model of a target that is written as PROVIDER:MODEL or PROVIDER:MODEL@URL, or as the name
// of a model. The first has the address of Options.TargetURL or of the environment, where one is given.
func (s *Setup) modelOfTarget(name string) (config.Model, error) {
	plain, address := config.CutAddress(name)
	m, err := s.ModelNamed(plain, "target", Names(s.config.Targets))
	_, named := s.config.Models[plain]
	remote := err == nil && llm.Remote(m.Provider)
	switch {
	case err != nil:
		return m, err
	case address != "" && (named || !remote):
		return m, source.Invalid("target %s: only a target written as PROVIDER:MODEL has an address behind @", plain)
	case address != "":
		if m, err = m.Named(address); err != nil {
			err = source.Invalid("target %s: the address behind @: %w", plain, err)
		}
		return m, err
	case named:
		return m, s.unaddressed(name)
	case !remote:
		return m, nil
	case s.TargetURL != "":
		if m, err = m.At(s.TargetURL); err != nil {
			err = source.Invalid("--target-url: %w", err)
		}
		return m, err
	}
	if address = s.Getenv(config.TargetURLEnv); address != "" {
		if m, err = m.At(address); err != nil {
			err = source.Invalid("%s: %w", config.TargetURLEnv, err)
		}
	}
	return m, err
}

// unaddressed refuses Options.TargetURL for a target that the configuration describes.
func (s *Setup) unaddressed(name string) error {
	if s.TargetURL == "" {
		return nil
	}
	return source.Invalid(
		"--target-url is for targets written as PROVIDER:MODEL: %s is named in %s, which gives its address as base_url",
		name, s.config.Path)
}

// parts returns what opens the parts of a target, with the settings of a test.
func (s *Setup) parts(e suite.Execution) target.Parts {
	call := CallOf(e)
	return target.Parts{
		Files:      s.Files,
		NoCommands: s.NoCommands,
		Model:      func(m config.Model) (llm.Model, error) { return s.open(m, call) },
		Flow: func(m config.Model, c target.FlowConfig) (*flow.Engine, *flow.Flow, error) {
			return s.flow(m, c, call)
		},
		Definition:       func(c target.FlowConfig) (*flow.Flow, error) { return LoadFlow(s.Files, c) },
		Knowledge:        func(c target.FlowConfig) string { return knowledgeOf(s.Files, c) },
		Answers:          s.answersOf,
		SiteDependencies: s.siteDependencies,
		Site: chatbot.ForTargets(func(c target.SiteConfig) (*chatbot.Sites, error) {
			return s.openSites(context.Background(), s.siteOptions(c), call)
		}),
		Token:    s.token,
		Recorded: s.recording.Model,
		Limited:  s.models.Limits.Limit,
		Environ:  s.environ,
		Closing:  s.closing,
		Tools:    s.tools.Get,
		Playing:  s.recording.Playing(),
		Warn:     s.warnOnce,
		Client:   s.client,
		Retries:  call.retries(nil),
		Timeout:  call.timeout,
	}
}

// Answers returns the answers that a target plays, nil for a target that is called.
func (s *Setup) Answers(name string) (*target.Answers, error) {
	s.opening.Lock()
	defer s.opening.Unlock()
	if _, made := s.made[name]; made {
		return nil, nil
	}
	t, err := s.TargetNamed(name)
	if c, ok := t.Options.(target.AnswersConfig); ok && err == nil {
		return s.answersOf(c)
	}
	return nil, err
}

// answersOf opens a file of answers once.
func (s *Setup) answersOf(c target.AnswersConfig) (*target.Answers, error) {
	key := fmt.Sprint(c.File, c.Definition)
	if a, ok := s.answers[key]; ok {
		return a, nil
	}
	a, err := target.OpenAnswers(c, s.Files)
	if err != nil {
		return nil, err
	}
	s.closing(a.Close)
	s.answers[key] = a
	return a, nil
}

// NodesOfServer returns the nodes of the flow that a target's server follows (target.NodesOfServer).
func (s *Setup) NodesOfServer(ctx context.Context, t config.Target) ([]byte, error) {
	return target.NodesOfServer(ctx, t, s.parts(suite.Execution{}))
}

// token returns the bearer token that a variable holds. Playback needs none, because no server is asked.
func (s *Setup) token(variable string) (string, error) {
	token := s.secret(variable)
	if token == "" && !s.recording.Playing() {
		return "", fmt.Errorf("the target's token is missing: set %s", variable)
	}
	return token, nil
}

// Placeholders returns the placeholders that stand in what a target sends to its agent; ok is false of one that takes
// whole conversations. A name that is no target has none: opening it says so.
func (s *Setup) Placeholders(name string) (names []string, ok bool) {
	s.opening.Lock()
	defer s.opening.Unlock()
	if _, made := s.made[name]; made {
		return nil, false
	}
	t, err := s.TargetNamed(name)
	if err != nil {
		return nil, false
	}
	return target.Placeholders(t)
}

// AcceptsStubs reports whether a target takes stubs: it follows a flow, here or at a server. A name that is no target
// says so when it is opened.
func (s *Setup) AcceptsStubs(name string) bool {
	s.opening.Lock()
	defer s.opening.Unlock()
	if _, made := s.made[name]; made {
		return true
	}
	t, err := s.TargetNamed(name)
	return err != nil || target.TraitsOf(t).Flow
}

// Call sends one message to a target that no configuration needs to describe (target.Call), and waits for the answer as
// long as timeout; 0 leaves it to the target.
func (s *Setup) Call(ctx context.Context, t config.Target, message string,
	timeout time.Duration) (target.Exchange, error) {
	s.opening.Lock()
	defer s.opening.Unlock()
	return target.Call(ctx, t, s.parts(suite.Execution{Timeout: timeout}), message)
}
