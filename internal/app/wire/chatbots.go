package wire

import (
	"cmp"
	"context"

	"github.com/rehearse-dev/rehearse/internal/app/wire/chatbot"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// sitesKey identifies open chatbots: the configuration, the options and a test's call settings.
type sitesKey struct {
	config  string
	options chatbot.Options
	call    Call
}

// Sites opens the chatbots of a place with everything that they name, once.
func (s *Setup) Sites(ctx context.Context, o chatbot.Options) (*chatbot.Sites, error) {
	s.opening.Lock()
	defer s.opening.Unlock()
	return s.openSites(ctx, o, Call{})
}

func (s *Setup) openSites(ctx context.Context, o chatbot.Options, call Call) (*chatbot.Sites, error) {
	key := sitesKey{s.config.Path, o, call}
	if opened, ok := s.sites[key]; ok {
		return opened, nil
	}
	from, err := s.sources.Read(ctx, o.Dir)
	if err != nil {
		return nil, err
	}
	opened, err := chatbot.Open(ctx, s.chatbots(call), from, o)
	if err == nil {
		s.sites[key] = opened
	}
	return opened, err
}

func (s *Setup) siteOptions(c target.SiteConfig) chatbot.Options {
	return chatbot.Options{Dir: c.Dir, Prompts: c.Prompts, Model: cmp.Or(s.Options.Model, c.Model)}
}

// chatbots returns what chatbots are opened with.
func (s *Setup) chatbots(call Call) chatbot.Config {
	return chatbot.Config{
		Files: s.Files, Getenv: s.Getenv, Secret: s.secret, Log: s.Log, Now: s.Now, Warn: s.ReportProblem,
		Transport: s.outside, Services: s.recording.Transport(s.outside), Receipts: s.recording.Receipts(s.outside),
		LocalPrompt: s.LocalPrompt, Dry: s.Dry,
		Model: func(name string) (config.Model, error) {
			return s.ModelNamed(name, "model", Names(s.config.Models))
		},
		OpenModel: func(name string) (llm.Model, error) { return s.modelCalled(name, call) },
		Knowledge: s.library, Langfuse: s.Langfuse,
	}
}

// siteDependencies returns what a chatbot may call.
func (s *Setup) siteDependencies(ctx context.Context, c target.SiteConfig) (target.Dependencies, error) {
	from, err := s.sources.Read(ctx, c.Dir)
	if err != nil {
		return target.Dependencies{}, err
	}
	return chatbot.Dependencies(s.chatbots(Call{}), from, s.siteOptions(c), c.Name)
}

// ReadSites reads the sites of a place, once, and opens nothing of them. What they name and a submitted run may not is
// noted.
func (s *Setup) ReadSites(c target.SiteConfig) (*chatbot.Source, error) {
	s.opening.Lock()
	defer s.opening.Unlock()
	from, err := s.sources.Read(context.Background(), c.Dir)
	if err == nil && s.Submitted != nil {
		s.siteNames(from)
	}
	return from, err
}

// NamedSites finds sites by their names (chatbot.NewNamedSites).
func (s *Setup) NamedSites(place target.SiteConfig, instead string) (*chatbot.NamedSites, error) {
	return chatbot.NewNamedSites(s.ReadSites, s.config.Targets, place, instead)
}

// EraseSession erases a session of a chatbot (chatbot.Sessions.EraseSession).
func (s *Setup) EraseSession(ctx context.Context, of *chatbot.Sessions, site, session string) (bool, error) {
	return of.EraseSession(ctx, s.chatbots(Call{}), site, session)
}
