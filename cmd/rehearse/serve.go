package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/app/wire/chatbot"
	"github.com/rehearse-dev/rehearse/internal/app/wire/storage"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/fleet/access"
	"github.com/rehearse-dev/rehearse/internal/fleet/coordinator"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/web/api"
	"github.com/rehearse-dev/rehearse/internal/web/pages"
)

// serveFlags are the flags of `rehearse serve`.
type serveFlags struct {
	hosts, apiHosts        []string
	apiPrivate             bool
	addr, flows, knowledge string
	sites, prompts         string
	store, redis           string
	model, config          string
	tokenEnv, logFormat    string
	grace, sessionTTL      time.Duration
	maxTurns               int
	public, localPrompt    bool
	events, durable        bool
	trustLoopback          bool
	rate                   int
	origins, proxies       []string
	runs                   runsFlags
	// hasModel is true when --model was given: then it answers for every site, too.
	hasModel bool
	// opened is told where the server listens, instead of a line on stdout; nil prints the line.
	opened func(base string)
}

func newServe(env *Env) *cobra.Command { return serveCommand(env, &serveFlags{}) }

// serveCommand returns the command whose flags are f.
func serveCommand(env *Env, f *serveFlags) *cobra.Command {
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve runs, flows and site chatbots over HTTP",
		Long: `Serve flows as agents: POST /execute takes one turn of a conversation whose state the caller keeps, POST /internal/agent/test the same
with sampling parameters and tracing (JSON, SSE, or a WebSocket by GET), /api/v1/conversations keeps the state, /api/v1/flows lists the flows.
With --sites, serve the chatbots of websites: POST /api/v1/chat answers a visitor by SSE, /chat/SITE is a page to talk on.
POST /api/v1/runs takes a run with its files, which this process leads and holds, together with the workers that join it (rehearse worker); its
results are under /api/v1/runs/RUN.
POST /api/v1/events and /api/v1/events/batch take logged events into the store, from which "rehearse replay" plays them again.
/runs, /sessions, /datasets and the other pages of "rehearse view" show the runs and the store of this server in the browser; where a token is needed, /login takes it.
GET /healthz answers 200 when the server can work, GET /livez while it runs.

Without a token, programs of this machine may do everything and others nothing. Make tokens with "rehearse token add", or put one into REHEARSE_TOKEN;
everybody then sends one as Authorization: Bearer TOKEN, programs of this machine too unless --trust-loopback is given. With
--public, a request without a token is a visitor's, wherever it comes from, and only --trust-loopback exempts programs of this machine.
Ctrl-C and SIGTERM let turns in flight finish.`,
		Example: `  rehearse serve --flows flows/                              with the small model inside, at 127.0.0.1:8090
  rehearse serve --flows flows/ --model openai:gpt-5-mini --knowledge docs/
  rehearse serve --sites examples/sites --model openai:gpt-5-mini     then open http://127.0.0.1:8090/chat/SITE
  rehearse serve --sites sites/ --redis redis://localhost:6379 --public --origin https://www.acme.example
  REHEARSE_TOKEN=… rehearse serve --flows flows/ --addr :8090    for other machines
  rehearse serve --store sqlite:history.db                       take events of conversations that are held elsewhere
  curl 127.0.0.1:8090/api/v1/conversations -d '{"flow_id": "support"}'`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			f.hasModel = c.Flags().Changed("model")
			return f.serve(c.Context(), env)
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.addr, "addr", "127.0.0.1:8090", "address to listen on; port 0 takes a free one")
	flags.StringVar(&f.flows, "flows", "",
		"file or folder of flows; without one only flows that a request brings along are run")
	flags.StringVar(&f.model, "model", "lexical", "model that talks: PROVIDER:MODEL, or a name in rehearse.yaml")
	flags.StringVar(&f.sites, "sites", "",
		"folder of websites' chatbots, the file of one, or a database: postgres://… or supabase+https://…")
	flags.StringVar(&f.prompts, "prompts", "", "folder of prompts that the sites name (default: those built in)")
	flags.BoolVar(&f.localPrompt, "local-prompt", false, "prompts from files and built in only, not from Langfuse")
	flags.StringVar(&f.store, "store", "", "database of runs, tokens, schedules and logged events: "+
		"sqlite:PATH or postgres://…, which keeps visitors' sessions and leads too (default: "+
		"that of the configuration, else a file in --data; REHEARSE_STORE stands in)")
	flags.StringVar(&f.redis, "redis", "",
		"server for the visitors' sessions, redis://HOST:PORT; their leads, index and limits stay in the store")
	flags.DurationVar(&f.sessionTTL, "session-ttl", 24*time.Hour,
		"how long a visitor's session is kept after its last message")
	flags.BoolVar(&f.durable, "durable", false, "keep a record of each step of a chatbot's turn: "+
		"when this process dies, the same message goes on with the turn")
	flags.BoolVar(&f.events, "events", true,
		"where a store is named, log the turns of visitors in it as events, for replay")
	flags.BoolVar(&f.public, "public", false,
		"open the sites' chats to visitors: all requests without a token, also from this machine")
	flags.StringSliceVar(&f.origins, "origin", nil,
		"website whose pages may call the chat, such as https://www.acme.example")
	flags.StringSliceVar(&f.proxies, "trusted-proxy", nil,
		"network of proxies whose X-Forwarded-For is believed, such as 10.0.0.0/8")
	flags.StringVar(&f.config, "config", "",
		"configuration file (default: the nearest rehearse.yaml at or above the flows)")
	flags.StringVar(&f.knowledge, "knowledge", "", "folder of knowledge bases (default: knowledge/ beside the flows)")
	flags.StringVar(&f.tokenEnv, "token-env", defaultTokenEnv,
		"environment variable with a bearer token that opens everything")
	flags.BoolVar(&f.trustLoopback, "trust-loopback", false,
		"let programs of this machine in without a token, also with --public")
	flags.IntVar(&f.rate, "rate", 50,
		"requests a second of each token, and of each address without one; twice that in a burst")
	flags.StringSliceVar(&f.hosts, "host", nil,
		"name by which browsers may ask for the pages, beside the address and localhost")
	flags.StringVar(&f.logFormat, "log", "text", "format of the log on stderr: text, json or off")
	flags.StringArrayVar(&f.apiHosts, "api-host", nil,
		"host that the served flows may call, HOST[:PORT] or *.DOMAIN; may be given several times")
	flags.BoolVar(&f.apiPrivate, "api-private", false, "let flows call hosts at private addresses, too")
	flags.DurationVar(&f.grace, "grace", 15*time.Second, "after Ctrl-C, how long turns in flight may take to finish")
	f.runs.declare(flags)
	flags.IntVar(&f.maxTurns, "max-turns", 256, "how many turns may be under way at once")
	return c
}

const defaultTokenEnv = "REHEARSE_TOKEN"

// serve opens what is served, and serves it until a signal.
func (f *serveFlags) serve(ctx context.Context, env *Env) error {
	token := env.Getenv(f.tokenEnv)
	if err := f.check(token); err != nil {
		return err
	}
	log, err := openLog(env, f.logFormat)
	if err != nil {
		return err
	}
	ctx, sent := env.traced(ctx, func(text string) { log.Warn("traces", "problem", text) })
	defer sent()
	s, err := env.open(wire.Options{
		APIHosts: f.apiHosts, APIPrivate: f.apiPrivate,
		Config: f.config, Log: log, LocalPrompt: f.localPrompt,
		Warn: func(text string) { log.Warn("setup", "problem", text) },
	})
	if err != nil {
		return outcome(err)
	}
	defer logged(log, s.Close)
	if s, err = s.At(f.folder()); err != nil {
		return outcome(err)
	}
	options, err := f.served()
	if err != nil {
		return err
	}
	store := s.RunsStore(f.store, f.runs.data)
	options.Events, options.LogTurns = store, f.events && s.NamedStore(f.store) != ""
	if options.Sites.Dir != "" {
		options.Sites.Store = chatbot.SessionStore(store)
	}
	stopped, err := env.begins(ctx, func(ctx context.Context) error {
		return storage.AwaitRuns(ctx, store, func(err error) { log.Warn("the store is waited for", "error", err) })
	})
	if err != nil || stopped {
		return outcome(err)
	}
	served, err := s.Served(ctx, options)
	if err != nil {
		return outcome(err)
	}
	defer logged(log, served.Close)
	f.warnOfBudgets(log, served)
	used := f.runs.usedData()
	var running *coordinator.Running
	stopped, err = env.begins(ctx, func(ctx context.Context) (err error) {
		running, err = f.runs.serve(ctx, env, log, store)
		return err
	})
	if running != nil {
		defer logged(log, running.Close)
	}
	if err != nil || stopped {
		return outcome(err)
	}
	unwatched, err := f.watched(ctx, env, s, store, running)
	if err != nil {
		return outcome(err)
	}
	defer unwatched()
	tokens := access.New(access.Config{
		Token: token, Store: running.Store, Mark: filepath.Join(f.runs.data, "tokens-configured"), Now: env.Now,
	})
	guarded, err := tokens.Configured()
	if err == nil {
		err = warnOfLostStore(ctx, log, running.Store, tokens, used)
	}
	if err != nil {
		return outcome(err)
	}
	agents, err := f.agents(env, served, running, log, tokens)
	if err != nil {
		return outcome(err)
	}
	opener := &pages.Opener{Address: store}
	defer logged(log, opener.Close)
	stopping := make(chan struct{})
	browser := f.pages(env, s, served, running, opener, agents, log, stopping)
	err = api.Serve(ctx, pages.With(browser, agents), api.Listening{
		Addr: f.addr, Guarded: guarded, TokenEnv: f.tokenEnv, Log: log, Stop: env.Signals, Grace: f.grace,
		Drain:  func(ctx context.Context) error { return errors.Join(running.Drain(ctx), agents.Drain(ctx)) },
		Opened: func(at net.Addr) { f.printAddress(env, at, running.NATSAddr) },
		Stopping: func() {
			agents.Stop()
			close(stopping)
			fmt.Fprintf(env.Stderr, "finishing what is in flight (at most %s); press Ctrl-C again to stop at once\n",
				f.grace)
		},
	})
	if errors.Is(err, api.ErrGivenUp) {
		return &exitError{result.ExitInterrupted, err}
	}
	return outcome(err)
}

// printAddress prints the addresses of the server: of its API and for its workers.
func (f *serveFlags) printAddress(env *Env, at net.Addr, nats string) {
	if f.opened != nil {
		f.opened(api.BaseOf(at))
		return
	}
	fmt.Fprintf(env.Stdout, "listening on %s\n", api.BaseOf(at))
	if nats != "" {
		fmt.Fprintf(env.Stdout, "workers join with: rehearse worker --nats nats://%s\n", nats)
	}
}

// check refuses flags that are out of range.
func (f *serveFlags) check(token string) error {
	switch {
	case f.maxTurns < 1:
		return usage("--max-turns must be at least 1")
	case f.grace < 0:
		return usage("--grace cannot be negative")
	case f.rate < 1:
		return usage("--rate must be at least 1")
	case f.tokenEnv != defaultTokenEnv && token == "":
		return usage("--token-env: the variable %s is not set", f.tokenEnv)
	}
	for _, host := range f.apiHosts {
		if fault := config.HostFault(host); fault != "" {
			return usage("--api-host: %s: write HOST, HOST:PORT or *.DOMAIN", fault)
		}
	}
	return nil
}

// folder returns the folder whose configuration applies: that of the flows, or of the sites unless they are in a
// database.
func (f *serveFlags) folder() string {
	if f.flows == "" && !(chatbot.Options{Dir: f.sites}).InDatabase() {
		return source.Files{}.FolderOf(f.sites)
	}
	return source.Files{}.FolderOf(f.flows)
}

// served says what is opened.
func (f *serveFlags) served() (wire.ServedOptions, error) {
	o := wire.ServedOptions{Model: f.model, Flows: f.flows, Knowledge: f.knowledge}
	if f.store != "" && !storage.IsPostgres(f.store) {
		if _, scheme := storage.SQLitePath(f.store); scheme != "" {
			return o, usage("--store %s is not supported here: use sqlite:PATH or postgres://…", f.store)
		}
	}
	if f.sites == "" {
		if f.durable {
			return o, usage("--durable keeps the turns of chatbots: add --sites FOLDER")
		}
		return o, nil
	}
	o.Sites = chatbot.Options{
		Dir: f.sites, Prompts: f.prompts, Redis: f.redis, TTL: f.sessionTTL, Limited: true, Durable: f.durable,
	}
	if f.hasModel {
		o.Sites.Model = f.model
	}
	return o, nil
}
