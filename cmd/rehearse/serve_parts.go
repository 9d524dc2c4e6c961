package main

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/app/replayrun"
	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/telemetry"
	"github.com/rehearse-dev/rehearse/internal/fleet/access"
	"github.com/rehearse-dev/rehearse/internal/fleet/coordinator"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/web/api"
	"github.com/rehearse-dev/rehearse/internal/web/pages"
	"github.com/rehearse-dev/rehearse/internal/web/pages/frame"
)

// watched keeps the watches of the configuration until the function that it returns has been called, which waits for
// them.
func (f *serveFlags) watched(ctx context.Context, env *Env, s *wire.Setup, store string,
	running *coordinator.Running) (unwatched func(), err error) {
	watches, err := replayrun.OpenWatches(s, store, env.Getenv("REHEARSE_WEBHOOK_SECRET"))
	if err != nil {
		return nil, err
	}
	if len(f.apiHosts) == 0 && !f.apiPrivate && !f.localPrompt { // which workers elsewhere do not know
		watches.RunRemote = running.RunInterim
	}
	ctx, cancel := context.WithCancel(ctx)
	var kept sync.WaitGroup
	kept.Go(func() { watches.Run(ctx) })
	return func() { cancel(); kept.Wait() }, nil
}

// warnOfBudgets says which sites strangers may spend the money of without an end.
func (f *serveFlags) warnOfBudgets(log *slog.Logger, served *wire.Served) {
	if !f.public || served.Sites == nil {
		return
	}
	for _, name := range served.Sites.WithoutBudget() {
		log.Warn("the site has no budget: everybody may use its models; add limits: {tokens_per_day: N} "+
			"or {cost_per_day: N} to its file", "site", name)
	}
}

// usedData returns a folder of runs or of the queue in --data that has something in it; empty without any.
func (f *runsFlags) usedData() string {
	for _, name := range []string{"runs", "nats"} {
		dir := filepath.Join(f.data, name)
		if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
			return dir
		}
	}
	return ""
}

// warnOfLostStore logs that the store has lost its tokens, or that it is empty although a folder of --data is in use.
func warnOfLostStore(ctx context.Context, log *slog.Logger, runs *store.Fleet, tokens *access.Authenticator,
	used string) error {
	if tokens.Lost() {
		log.Warn("the server has lost its tokens and rejects requests without one; restore the store, or create a " +
			"token with `rehearse token add`")
	}
	if used == "" {
		return nil
	}
	page, err := runs.Runs(ctx, store.RunFilter{}, store.PageOf{Limit: 1})
	if err == nil && len(page.Items) == 0 {
		log.Warn("the store has no runs, but --data was in use; check --store", "folder", used)
	}
	return err
}

// pages are those of `rehearse view`, over what is served.
func (f *serveFlags) pages(
	env *Env, s *wire.Setup, served *wire.Served, running *coordinator.Running, opener *pages.Opener,
	agents *api.Agents, log *slog.Logger, stopping <-chan struct{},
) http.Handler {
	var held pages.LiveSessions
	if served.Sites != nil {
		held = served.Sites.Bot
	}
	return pages.New(pages.Config{
		Live: held, Frame: frame.Config{Hosts: f.hosts, Guard: pages.Agents{Server: agents}, Log: log},
		Runs: pages.ServedRuns(env.Now, running.Folders, opener), Store: opener.Open, Make: opener.Make,
		Flows: func() ([]*flow.Flow, error) { return s.Flows(f.flows) }, Mask: env.secrets.Text, Now: env.Now,
		Stopping: stopping,
	})
}

// logged calls a function that closes something, and logs its error.
func logged(log *slog.Logger, closing func() error) {
	if err := closing(); err != nil {
		log.Warn("closing", "error", err)
	}
}

// agents makes a server of what was opened.
func (f *serveFlags) agents(env *Env, served *wire.Served, running *coordinator.Running, log *slog.Logger,
	tokens *access.Authenticator) (*api.Agents, error) {
	proxies, err := api.Networks(f.proxies)
	if err != nil {
		return nil, err
	}
	c := api.AgentsConfig{
		Version: version(),
		Log:     log, Now: env.Now, Access: tokens, Tokens: running.Store, Conversations: running.Store,
		TrustLoopback: f.trustLoopback, Rate: f.rate, Public: f.public, Origins: f.origins, TrustedProxies: proxies,
		SessionKey: []byte(env.Getenv("REHEARSE_SESSION_KEY")), MaxTurns: f.maxTurns, Metrics: running.Service.Metrics,
	}
	c = c.OfServed(served)
	sessions := c.Healthy
	c.Healthy = func() error {
		if sessions != nil {
			if err := sessions(); err != nil {
				return err
			}
		}
		return running.Healthy()
	}
	c.Runs = api.NewRuns(api.RunsConfig{
		Leader: running, Scheduler: running, Store: running.Store, Workers: running.Conn, Artifacts: running.Artifacts,
		Log: log,
	})
	agents, err := api.NewAgents(c)
	if err != nil {
		return nil, usage("--origin: %w", err)
	}
	return agents, nil
}

// openLog returns the log on stderr. It has no secrets in it.
func openLog(env *Env, format string) (*slog.Logger, error) {
	log, ok := telemetry.Log(env.Stderr, format)
	if !ok {
		return nil, usage("--log %q: use text, json or off", format)
	}
	return log, nil
}
