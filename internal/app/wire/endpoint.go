package wire

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

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
