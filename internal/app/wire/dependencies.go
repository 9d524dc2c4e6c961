package wire

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// Dependency is a model that may be asked.
type Dependency struct {
	Model config.Model
	Price llm.Price
	// Embeds is true of an embedding model.
	Embeds bool
	// Address is where the model is asked, without user info and query; empty for one in the program. Own says that it
	// is the provider's own.
	Address string
	Own     bool
	// Key is the variable with the key, which is set or not; empty for none.
	Key    string
	KeySet bool
}

// Dependencies is what a target may ask. It is empty while a recording is played, because then nothing is asked.
type Dependencies struct {
	Models []Dependency
	// Server is the address of an agent that is no model, without user info and query, or the command of one that is a
	// program; empty for other targets. Priced is true when it says what it costs.
	Server string
	// Others are further addresses of that agent, at other hosts.
	Others []string
	Priced bool
}

// TargetDependencies returns what the target of a name may ask, without opening it. Of a target that a Maker makes,
// nothing is known.
func (s *Setup) TargetDependencies(ctx context.Context, name string) (Dependencies, error) {
	s.opening.Lock()
	defer s.opening.Unlock()
	if _, ok := s.made[name]; ok {
		return Dependencies{}, nil
	}
	t, err := s.TargetNamed(name)
	if err != nil || s.recording.Playing() {
		return Dependencies{}, err
	}
	asks, err := target.DependenciesOf(ctx, t, s.parts(suite.Execution{}))
	if err != nil {
		return Dependencies{}, err
	}
	var models []Dependency
	for _, m := range asks.Models {
		models = append(models, s.dependency(m))
	}
	found := Dependencies{
		Models: s.withEmbedder(asks.Embeds, models...), Server: text.Address(asks.Server), Priced: asks.Priced,
	}
	for _, address := range asks.Others {
		found.Others = append(found.Others, text.Address(address))
	}
	return found, nil
}

// JudgeDependencies returns the models that a judge may ask.
func (s *Setup) JudgeDependencies(j Judging) ([]Dependency, error) {
	found, err := s.judges(j)
	if err != nil || s.recording.Playing() {
		return nil, err
	}
	var models []Dependency
	for _, m := range found.all() {
		models = append(models, s.dependency(m))
	}
	return models, nil
}

// EmbedderDependencies returns the configured embedding model, if there is one.
func (s *Setup) EmbedderDependencies() []Dependency {
	if s.recording.Playing() {
		return nil
	}
	return s.withEmbedder(true)
}

func (s *Setup) withEmbedder(asks bool, models ...Dependency) []Dependency {
	if m := s.config.Embedder; asks && m != nil {
		embedder := s.dependency(*m)
		embedder.Embeds = true
		models = append(models, embedder)
	}
	return models
}

func (s *Setup) dependency(m config.Model) Dependency {
	a := Dependency{Model: m, Price: llm.PriceOf(m, s.config.Prices)}
	a.Address, a.Own = llm.Address(m, s.models)
	a.Key, a.KeySet = llm.KeyVariable(m, s.models)
	s.namesFile(m)
	a.Model = s.nearby(m)
	return a
}

// nearby names the file of a model that is played from the folder of the configuration, as authors do: of a chatbot's
// model its place on the disk is known.
func (s *Setup) nearby(m config.Model) config.Model {
	if m.Provider != "scripted" && m.Provider != "cassette" || m.Dir != "" {
		return m
	}
	if near, err := filepath.Rel(s.config.Dir, m.Name); err == nil && filepath.IsLocal(near) {
		m.Dir, m.Name = s.config.Dir, filepath.ToSlash(near)
	}
	return m
}

// Models returns the models of the configuration by their names, and those of its targets, its judge and its embedder.
func (s *Setup) Models() map[string]Dependency {
	models := map[string]Dependency{}
	for name, t := range s.config.Targets {
		if t.Model.Provider != "" {
			models["target "+name] = s.dependency(t.Model)
		}
	}
	for name, m := range s.config.Models {
		models[name] = s.dependency(m)
	}
	if m := s.config.Judge.Primary; m != nil {
		models["judge"] = s.dependency(*m)
	}
	if m := s.config.Judge.Secondary; m != nil {
		models["judge (secondary)"] = s.dependency(*m)
	}
	for i, m := range s.config.Judge.Panel {
		models[fmt.Sprintf("judge (%d of %d)", i+1, len(s.config.Judge.Panel))] = s.dependency(m)
	}
	if m := s.config.User; m != nil {
		models["user"] = s.dependency(*m)
	}
	for _, embedder := range s.withEmbedder(true) {
		models["embedder"] = embedder
	}
	return models
}

// Provided returns any model of a provider, as Models has it.
func (s *Setup) Provided(provider string) Dependency {
	return s.dependency(config.Model{Provider: provider, Name: "any"})
}

// listTimeout bounds Lists: a server that is there lists its models at once.
const listTimeout = 3 * time.Second

// Lists asks the address of a model which models it has. It is false of one that answers but has no list. Nothing is
// asked of a model.
func (s *shared) Lists(ctx context.Context, m config.Model) (bool, error) {
	bounded, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	lists, err := llm.Lists(bounded, m, s.models)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = fmt.Errorf("%s: no answer within %s: is the server running?", m, listTimeout)
	}
	return lists, err
}

// Provider is a provider of models: where its models are asked, and which variable has the key.
type Provider struct {
	Name, Doc string
	// Address is where it is asked in this environment, without user info and query; empty where the address is
	// missing. AddressEnv is the variable of the address; empty where nothing is asked over the network. Key is the
	// variable of the key, which is set or not; empty for none.
	Address, AddressEnv, Key string
	KeySet                   bool
}

// Providers returns all providers.
func (s *shared) Providers() []Provider {
	var providers []Provider
	for _, p := range llm.Providers() {
		m := config.Model{Provider: p.Name}
		shown := Provider{Name: p.Name, Doc: p.Doc, AddressEnv: llm.AddressVariable(p.Name)}
		shown.Address, _ = llm.Address(m, s.models)
		shown.Key, shown.KeySet = llm.KeyVariable(m, s.models)
		providers = append(providers, shown)
	}
	return providers
}
