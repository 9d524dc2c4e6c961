package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"rehearse/internal/result"
	"rehearse/internal/sitebot/siteconfig"
)

// serveFlags are the flags of `rehearse serve`.
type serveFlags struct {
	addr, flows, knowledge string
	sites, prompts         string
	store, redis           string
	model, config          string
	tokenEnv, logFormat    string
	grace, sessionTTL      time.Duration
	maxTurns               int
	public, localPrompt    bool
	origins, proxies       []string
	// hasModel is true when --model was given: then it answers for every site, too.
	hasModel bool
}

func newServe(env *Env) *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve flows and site chatbots over HTTP",
		Long: `Serve flows as agents: POST /execute takes one turn of a conversation whose state the caller keeps, POST /internal/agent/test the same
with sampling parameters and tracing (JSON, SSE, or a WebSocket by GET), /api/v1/conversations keeps the state, /api/v1/flows lists the flows.
With --sites, serve the chatbots of websites: POST /api/v1/chat answers a visitor by SSE, /chat/SITE is a page to talk on.
With --store, POST /api/v1/events and /api/v1/events/batch take logged events, which "rehearse replay" plays again.
GET /healthz answers when the server is ready.

Programs of this machine need no token. To serve others, put a token into REHEARSE_TOKEN; they send it as Authorization: Bearer TOKEN.
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
			return serveAgents(c.Context(), env, &f)
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.addr, "addr", "127.0.0.1:8090", "address to listen on; port 0 takes a free one")
	flags.StringVar(&f.flows, "flows", "", "file or folder of flows; without one only flows that a request brings along are run")
	flags.StringVar(&f.model, "model", "lexical", "model that talks: PROVIDER:MODEL, or a name in rehearse.yaml")
	flags.StringVar(&f.sites, "sites", "", "folder of websites' chatbots, the file of one, or a database: postgres://… or supabase+https://…")
	flags.StringVar(&f.prompts, "prompts", "", "folder of prompts that the sites name (default: those built in)")
	flags.BoolVar(&f.localPrompt, "local-prompt", false, "prompts from files and built in only, not from Langfuse")
	flags.StringVar(&f.store, "store", "", "database that keeps logged events, and the visitors' sessions: sqlite:PATH, or for events only postgres://… (default: sessions in memory)")
	flags.StringVar(&f.redis, "redis", "", "server that keeps the visitors' sessions, redis://HOST:PORT")
	flags.DurationVar(&f.sessionTTL, "session-ttl", 24*time.Hour, "how long a visitor's session is kept after its last message")
	flags.BoolVar(&f.public, "public", false, "let everybody chat with the sites; all else still needs the token")
	flags.StringSliceVar(&f.origins, "origin", nil, "website whose pages may call the chat, such as https://www.acme.example")
	flags.StringSliceVar(&f.proxies, "trusted-proxy", nil, "network of proxies whose X-Forwarded-For is believed, such as 10.0.0.0/8")
	flags.StringVar(&f.config, "config", "", "configuration file (default: the nearest rehearse.yaml at or above the flows)")
	flags.StringVar(&f.knowledge, "knowledge", "", "folder of knowledge bases (default: knowledge/ beside the flows)")
	flags.StringVar(&f.tokenEnv, "token-env", defaultTokenEnv, "environment variable with the bearer token for other machines")
	flags.StringVar(&f.logFormat, "log", "text", "format of the log on stderr: text, json or off")
	flags.DurationVar(&f.grace, "grace", 15*time.Second, "after Ctrl-C, how long turns in flight may take to finish")
	flags.IntVar(&f.maxTurns, "max-turns", 256, "how many turns may be under way at once")
	return c
}

// localSites returns the folder of the sites, or nothing when they are in a database.
func (f *serveFlags) localSites() string {
	if siteconfig.IsAddress(f.sites) {
		return ""
	}
	return f.sites
}

const defaultTokenEnv = "REHEARSE_TOKEN"

// serveAgents opens everything and serves it until a signal.
func serveAgents(ctx context.Context, env *Env, f *serveFlags) error {
	a, err := openAgents(ctx, env, f)
	if err != nil {
		return err
	}
	defer a.close()
	listener, err := listen(ctx, f, a.token)
	if err != nil {
		return err
	}
	working, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &http.Server{
		Handler:           a.handler(),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		BaseContext:       func(net.Listener) context.Context { return working },
		ErrorLog:          slog.NewLogLogger(a.log.Handler(), slog.LevelWarn),
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(listener) }()
	fmt.Fprintf(env.Stdout, "listening on http://%s\n", listener.Addr())
	select {
	case err := <-served:
		return outcome(err)
	case <-env.Signals:
	case <-ctx.Done():
	}
	complete := a.drain(s, cancel)
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return outcome(err)
	}
	if !complete {
		return &exitError{result.ExitInterrupted, errors.New("turns in flight were given up")}
	}
	return nil
}

// drain lets turns in flight finish within the grace period, or until a second signal; cancel gives up what is left.
// It reports whether all of them finished.
func (a *agents) drain(s *http.Server, cancel context.CancelFunc) (complete bool) {
	fmt.Fprintf(a.env.Stderr, "finishing what is in flight (at most %s); press Ctrl-C again to stop at once\n", a.flags.grace)
	within, done := context.WithTimeout(context.Background(), a.flags.grace)
	defer done()
	finished, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-a.env.Signals:
			done()
		case <-finished:
		}
	}()
	drained := make(chan error, 1)
	go func() { drained <- a.drainTurns(within) }()
	err := s.Shutdown(within)
	if complete = errors.Join(err, <-drained) == nil; !complete {
		cancel()
		_ = s.Close() // whoever still holds on has had the time to finish
	}
	close(finished)
	<-watched
	return complete
}

// listen opens the port. Only programs of this machine may come in without a token.
func listen(ctx context.Context, f *serveFlags, token string) (net.Listener, error) {
	if _, _, err := net.SplitHostPort(f.addr); err != nil {
		return nil, usage("--addr %q is not HOST:PORT, such as 127.0.0.1:8090", f.addr)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.addr)
	if err != nil {
		return nil, outcome(fmt.Errorf("cannot listen on %s: %w (is the port taken? choose another with --addr)", f.addr, err))
	}
	at, ok := listener.Addr().(*net.TCPAddr)
	if token == "" && (!ok || !at.IP.IsLoopback()) {
		_ = listener.Close()
		return nil, usage("%s can be reached from other machines: put a token into %s, or listen on 127.0.0.1", f.addr, f.tokenEnv)
	}
	return listener, nil
}
