package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"rehearse/internal/config"
	"rehearse/internal/flow"
	"rehearse/internal/llm"
	"rehearse/internal/redact"
	"rehearse/internal/server"
	"rehearse/internal/store"
)

// agents is what `rehearse serve` serves.
type agents struct {
	env     *Env
	flags   *serveFlags
	log     *slog.Logger
	token   string
	secrets *redact.Redactor
	models  llm.Options
	config  config.File
	// main is the model that --model says.
	main config.Model
	// named are that model and others of its provider that tests have asked for, by name.
	mu    sync.Mutex
	named map[string]llm.Model

	knowledge *store.Knowledge // nil without knowledge bases
	flows     *server.Flows
	// sites and chats are nil without --sites.
	sites *sites
	chats *server.Chats
	// history and events are nil without --store.
	history *history
	events  *server.Events
}

// openAgents opens the model, the flows and what they may look up.
func openAgents(ctx context.Context, env *Env, f *serveFlags) (*agents, error) {
	a := &agents{
		env: env, flags: f, token: env.Getenv(f.tokenEnv), secrets: redact.New(env.Environ), named: map[string]llm.Model{},
		models: llm.Options{Getenv: env.Getenv, Transport: llm.Transport(), ReadFile: os.ReadFile, Limits: llm.NewLimits()},
	}
	if err := a.check(); err != nil {
		return nil, err
	}
	model, err := a.openMain()
	if err != nil {
		return nil, err
	}
	library, err := a.openLibrary()
	if err != nil {
		return nil, err
	}
	c := flow.Config{Model: model, Named: a.modelNamed, Parameters: parametersOf(a.main), Flows: library, Log: a.log}
	if err := a.openKnowledge(ctx); err != nil {
		return nil, err
	}
	if a.knowledge != nil {
		c.Knowledge = a.knowledge
	}
	a.flows = server.NewFlows(server.FlowsConfig{Engine: flow.New(c), Log: a.log, Now: env.Now, MaxTurns: f.maxTurns})
	err = a.openChats(ctx)
	if err == nil {
		err = a.openEvents(ctx)
	}
	if err != nil {
		a.close()
		return nil, err
	}
	return a, nil
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
	o := sitesOptions{
		dir: f.sites, prompts: f.prompts, config: a.config, store: path, redis: f.redis, ttl: f.sessionTTL, log: a.log,
		localPrompt: f.localPrompt, warn: func(text string) { a.log.Warn("prompts", "problem", text) },
	}
	if f.hasModel {
		o.model = f.model
	}
	if a.sites, err = openSites(ctx, a.env, o); err != nil {
		return err
	}
	proxies, err := networks(f.proxies)
	if err != nil {
		return err
	}
	a.chats, err = server.NewChats(server.ChatsConfig{
		Bot: a.sites.bot, Log: a.log, Token: a.token, Public: f.public, Origins: f.origins, TrustedProxies: proxies, MaxTurns: f.maxTurns,
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

// sqlitePath returns the path of a database given as sqlite:PATH, or as a path.
func sqlitePath(store string) (string, error) {
	if path, ok := strings.CutPrefix(store, "sqlite:"); ok {
		return path, nil
	}
	if strings.Contains(store, "://") {
		return "", usage("--store %s is not supported here: use sqlite:PATH, or --redis URL", store)
	}
	return store, nil
}

// handler is everything that is served.
func (a *agents) handler() http.Handler {
	c := server.FrontConfig{Token: a.token, Log: a.log}
	if a.sites != nil && a.sites.server != nil {
		c.Healthy = a.sites.server.Healthy
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
	out := scrubbed{a.env.Stderr, a.secrets}
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
		return nil, &exitError{exitUsage, err}
	}
	for _, f := range library.Flows() {
		a.log.Info("flow", "id", f.ID, "version", f.Version, "nodes", len(f.Nodes), "warnings", len(f.Warnings), "file", f.File)
	}
	return library, nil
}

// openKnowledge opens the knowledge bases, if there are any.
func (a *agents) openKnowledge(ctx context.Context) error {
	dir := a.flags.knowledge
	if dir == "" && a.flags.flows != "" {
		beside := filepath.Join(folderOf(a.flags.flows), "knowledge")
		if info, err := os.Stat(beside); err == nil && info.IsDir() {
			dir = beside
		}
	}
	if dir == "" {
		return nil
	}
	vectors, err := vectorsOf(a.config, a.models, func(err error) { a.log.Warn("knowledge: searching by words only", "error", err) })
	if err != nil {
		return err
	}
	if a.knowledge, err = store.OpenKnowledge(ctx, dir, vectors...); err != nil {
		return &exitError{exitUsage, fmt.Errorf("knowledge: %w", err)}
	}
	return nil
}

func (a *agents) close() {
	if a.sites != nil {
		a.sites.close()
	}
	if a.history != nil {
		if err := a.history.close(); err != nil {
			a.log.Warn("events", "error", err)
		}
	}
	if a.knowledge == nil {
		return
	}
	if err := a.knowledge.Close(); err != nil {
		a.log.Warn("knowledge", "error", err)
	}
}

// folderOf returns a folder, or the folder of a file.
func folderOf(path string) string {
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return filepath.Dir(path)
	}
	return cmp.Or(path, ".")
}
