package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/netip"

	"rehearse/internal/config"
	"rehearse/internal/flow"
	"rehearse/internal/llm"
	"rehearse/internal/redact"
	"rehearse/internal/server"
	"rehearse/internal/setup"
	"rehearse/internal/source"
)

// agents is what `rehearse serve` serves.
type agents struct {
	env   *Env
	flags *serveFlags
	log   *slog.Logger
	token string
	setup *setup.Setup
	flows *server.Flows
	// sites and chats are nil without --sites.
	sites *setup.Sites
	chats *server.Chats
	// history and events are nil without --store.
	history *setup.History
	events  *server.Events
}

// openAgents opens the model, the flows and what they may look up.
func openAgents(ctx context.Context, env *Env, f *serveFlags) (a *agents, err error) {
	a = &agents{env: env, flags: f, token: env.Getenv(f.tokenEnv)}
	if err := a.check(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			a.close()
		}
	}()
	a.setup, err = env.open(setup.Options{
		Config: f.config, Log: a.log, LocalPrompt: f.localPrompt, Warn: func(text string) { a.log.Warn("setup", "problem", text) },
	})
	if err == nil {
		a.setup, err = a.setup.At(setup.FolderOf(cmp.Or(f.flows, f.localSites())))
	}
	if err == nil {
		err = a.openFlows()
	}
	if err == nil {
		err = a.openChats(ctx)
	}
	if err == nil {
		err = a.openEvents(ctx)
	}
	return a, outcome(err)
}

// openFlows opens the model that talks, and the flows; without flows only those are run that a request brings along.
func (a *agents) openFlows() error {
	f := a.flags
	first, err := a.setup.ModelNamed(f.model, "model", setup.Names(a.setup.Config().Models))
	if err != nil {
		return err
	}
	model, siblings, err := a.setup.Siblings(first)
	if err != nil {
		return err
	}
	library, err := a.openLibrary()
	if err != nil {
		return err
	}
	engine, err := a.setup.Engine(
		config.Target{Flow: config.Flow{Path: f.flows, Knowledge: f.knowledge}},
		flow.Config{Model: model, Named: siblings.Model, Parameters: llm.ParametersOf(first), Flows: library},
	)
	if err != nil {
		return err
	}
	a.flows = server.NewFlows(server.FlowsConfig{Engine: engine, Log: a.log, Now: a.env.Now, MaxTurns: f.maxTurns})
	return nil
}

// openChats opens the sites' chatbots, if there are any.
func (a *agents) openChats(ctx context.Context) error {
	f := a.flags
	if f.sites == "" {
		return nil
	}
	path, err := f.sessionsPath()
	if err != nil {
		return err
	}
	o := setup.SitesOptions{Dir: f.sites, Prompts: f.prompts, Store: path, Redis: f.redis, TTL: f.sessionTTL}
	if f.hasModel {
		o.Model = f.model
	}
	if a.sites, err = a.setup.Sites(ctx, o); err != nil {
		return err
	}
	proxies, err := networks(f.proxies)
	if err != nil {
		return err
	}
	a.chats, err = server.NewChats(server.ChatsConfig{
		Bot: a.sites.Bot, Log: a.log, Token: a.token, Public: f.public, Origins: f.origins, TrustedProxies: proxies, MaxTurns: f.maxTurns,
	})
	if err != nil {
		return usage("--origin: %w", err)
	}
	return nil
}

// networks reads networks such as 10.0.0.0/8, and single addresses.
func networks(texts []string) ([]netip.Prefix, error) {
	var read []netip.Prefix
	for _, text := range texts {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			address, failed := netip.ParseAddr(text)
			if failed != nil {
				return nil, usage("--trusted-proxy %q is no network such as 10.0.0.0/8, and no address", text)
			}
			network = netip.PrefixFrom(address, address.BitLen())
		}
		read = append(read, network)
	}
	return read, nil
}

// handler is everything that is served.
func (a *agents) handler() http.Handler {
	c := server.FrontConfig{Token: a.token, Log: a.log}
	if a.sites != nil && a.sites.Server != nil {
		c.Healthy = a.sites.Server.Healthy
	}
	var inside http.Handler = a.flows
	if a.events != nil {
		inside = a.events.Beside(inside)
	}
	front := server.Front(inside, c)
	if a.chats == nil {
		return front
	}
	return a.chats.Beside(front)
}

// drainTurns lets the turns in flight finish.
func (a *agents) drainTurns(ctx context.Context) error {
	err := a.flows.Drain(ctx)
	if a.chats != nil {
		err = errors.Join(err, a.chats.Drain(ctx))
	}
	return err
}

// check checks the flags, and opens the log.
func (a *agents) check() error {
	f := a.flags
	switch {
	case f.maxTurns < 1:
		return usage("--max-turns must be at least 1")
	case f.grace < 0:
		return usage("--grace cannot be negative")
	case f.tokenEnv != defaultTokenEnv && a.token == "":
		return usage("--token-env: the variable %s is not set", f.tokenEnv)
	}
	out := scrubbed{a.env.Stderr, redact.New(a.env.Environ)}
	switch f.logFormat {
	case "text":
		a.log = slog.New(slog.NewTextHandler(out, nil))
	case "json":
		a.log = slog.New(slog.NewJSONHandler(out, nil))
	case "off":
		a.log = slog.New(slog.DiscardHandler)
	default:
		return usage("--log %q: use text, json or off", f.logFormat)
	}
	return nil
}

// scrubbed is a writer that secrets do not pass. Each record of a log is written in one piece.
type scrubbed struct {
	io.Writer
	secrets *redact.Redactor
}

// Write writes a record without secrets.
func (s scrubbed) Write(record []byte) (int, error) {
	_, err := s.Writer.Write(s.secrets.Bytes(record))
	return len(record), err
}

// openLibrary loads the flows; without any it is nil.
func (a *agents) openLibrary() (*flow.Library, error) {
	if a.flags.flows == "" {
		return nil, nil
	}
	library, err := flow.OpenLibrary(a.flags.flows)
	if err != nil {
		return nil, outcome(source.AsInvalid(err))
	}
	for _, f := range library.Flows() {
		a.log.Info("flow", "id", f.ID, "version", f.Version, "nodes", len(f.Nodes), "warnings", len(f.Warnings), "file", f.File)
	}
	return library, nil
}

func (a *agents) close() {
	if a.history != nil {
		if err := a.history.Close(); err != nil {
			a.log.Warn("events", "error", err)
		}
	}
	if a.setup != nil {
		if err := a.setup.Close(); err != nil {
			a.log.Warn("closing", "error", err)
		}
	}
}
