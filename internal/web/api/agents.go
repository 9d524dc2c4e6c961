package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/fleet/access"
	"github.com/rehearse-dev/rehearse/internal/run/metrics"
)

// AgentsConfig is the configuration of a server of agents. Only Engine is required.
type AgentsConfig struct {
	Engine *flow.Engine
	// Bot answers visitors of websites and Events keeps logged events. Nil means that the server does not serve them.
	Bot Chatbot
	// Sites have pages on which visitors talk with Bot.
	Sites  ChatSites
	Events EventLog
	// Operator shows the sessions of Bot.
	Operator Operator
	// Lists lists what the store has; nil serves none.
	Lists *Lists
	// Runs leads runs; nil means that the server leads none.
	Runs *Runs
	// Conversations keeps conversations with flows; nil keeps them in this process, until it ends.
	Conversations ConversationStore
	// Tokens keeps the tokens of Access; nil means that they cannot be changed here.
	Tokens access.TokenStore
	// Version is the program's.
	Version string
	// Metrics count requests, and are served at /metrics; nil serves none.
	Metrics *metrics.Metrics
	// Healthy is FrontConfig.Healthy.
	Healthy func() error
	// Log gets a line for each turn, without its text; nil discards it.
	Log *slog.Logger
	// Now is the clock of conversations; nil means time.Now.
	Now func() time.Time
	// Access, TrustLoopback, Rate, Public, Origins and TrustedProxies say who may come in, as in FrontConfig and
	// ChatsConfig.
	Access         *access.Authenticator
	TrustLoopback  bool
	Rate           int
	Public         bool
	Origins        []string
	TrustedProxies []netip.Prefix
	// SessionKey is ChatsConfig.SessionKey.
	SessionKey []byte
	// MaxTurns is the number of concurrent turns of flows, and of concurrent turns of chatbots (256).
	MaxTurns int
}

// Agents serves flows, chatbots and a log of events behind one Front. It is safe for concurrent use. End it with Drain.
type Agents struct {
	http.Handler
	flows *Flows
	chats *Chats // nil without
	runs  *Runs  // nil without
	front *front
}

// Admits returns what a request with a token may do, or without one if it is empty, as Front decides for programs. The
// error wraps ErrOnlyHere if no token would admit the request.
func (a *Agents) Admits(r *http.Request, token string) (access.Grant, error) {
	asked := r.Clone(r.Context())
	asked.Header.Del("Authorization")
	if token != "" {
		asked.Header.Set("Authorization", "Bearer "+token)
	}
	grant, p := a.front.admit(asked)
	switch {
	case p == nil:
		return grant, nil
	case p.Status == http.StatusForbidden:
		return grant, fmt.Errorf("%w: %s", ErrOnlyHere, p.Detail)
	}
	return grant, errors.New(p.Detail)
}

// ErrOnlyHere says that only programs of this machine may use the server.
var ErrOnlyHere = errors.New("only programs of this machine may use this server")

// NewAgents returns a server of agents. It returns an error for an invalid origin.
func NewAgents(c AgentsConfig) (*Agents, error) {
	a := &Agents{runs: c.Runs}
	if c.Bot != nil {
		var err error
		if a.chats, err = NewChats(ChatsConfig{
			Bot: c.Bot, Operator: c.Operator, Sites: c.Sites, Log: c.Log, Public: c.Public, Origins: c.Origins,
			TrustedProxies: c.TrustedProxies, MaxTurns: c.MaxTurns, SessionKey: c.SessionKey,
		}); err != nil {
			return nil, err
		}
	}
	a.flows = NewFlows(FlowsConfig{
		Engine: c.Engine, Conversations: c.Conversations, Log: c.Log, Now: c.Now, MaxTurns: c.MaxTurns,
	})
	served := a.flows.table()
	if c.Events != nil {
		served = append(served, NewEvents(EventsConfig{Store: c.Events, Log: c.Log}).table()...)
	}
	if c.Lists != nil {
		served = append(served, c.Lists.table()...)
	}
	if c.Runs != nil {
		served = append(served, c.Runs.table()...)
	}
	if c.Tokens != nil {
		tokens := NewTokens(TokensConfig{Tokens: c.Tokens, Access: c.Access, Now: c.Now, Log: c.Log})
		served = append(served, tokens.table()...)
	}
	if c.Metrics != nil {
		served = append(served, metricsRoutes(c.Metrics)...)
	}
	documented := served
	if a.chats != nil {
		documented = slices.Concat(served, a.chats.table())
	}
	docs, err := newDocs(c.Version, documented)
	if err != nil {
		return nil, err
	}
	inside := ownPages().Handler(append(served, docs...).handler())
	front := FrontConfig{
		Access: c.Access, TrustLoopback: c.TrustLoopback, Rate: c.Rate, TrustedProxies: c.TrustedProxies, Log: c.Log,
		Healthy: c.Healthy, Stopping: a.flows.stopped,
	}
	if c.Public {
		front.Public = func(r *http.Request) bool { return a.chats != nil && a.chats.Open(r) }
	}
	if a.chats != nil {
		inside = a.chats.With(inside)
	}
	a.front = newFront(inside, front)
	a.Handler = counted(c.Metrics, a.front)
	return a, nil
}

// Stop refuses new turns and runs, and makes /healthz say so.
func (a *Agents) Stop() {
	a.flows.stop()
	if a.chats != nil {
		a.chats.stop()
	}
	if a.runs != nil {
		a.runs.Stop()
	}
}

// Drain is Stop, and waits for the turns under way, until ctx ends. Then it ends the streams of runs. Call it once.
func (a *Agents) Drain(ctx context.Context) error {
	a.Stop()
	err := a.flows.Drain(ctx)
	if a.chats != nil {
		err = errors.Join(err, a.chats.Drain(ctx))
	}
	if a.runs != nil {
		a.runs.End()
	}
	return err
}
