package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"rehearse/internal/result"
	"rehearse/internal/server"
	"rehearse/internal/setup"
)

// serve opens what is served, and serves it until a signal.
func (f *serveFlags) serve(ctx context.Context, env *Env) error {
	token := env.Getenv(f.tokenEnv)
	if err := f.check(token); err != nil {
		return err
	}
	log, err := f.openLog(env)
	if err != nil {
		return err
	}
	s, err := env.open(setup.Options{
		Config: f.config, Log: log, LocalPrompt: f.localPrompt, Warn: func(text string) { log.Warn("setup", "problem", text) },
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
	served, err := s.Served(ctx, options)
	if err != nil {
		return outcome(err)
	}
	defer logged(log, served.Close)
	agents, err := f.agents(env, served, log, token)
	if err != nil {
		return err
	}
	return f.answer(ctx, env, agents, log, token)
}

// logged calls a function that closes something, and logs its error.
func logged(log *slog.Logger, closing func() error) {
	if err := closing(); err != nil {
		log.Warn("closing", "error", err)
	}
}

// agents makes a server of what was opened.
func (f *serveFlags) agents(env *Env, served *setup.Served, log *slog.Logger, token string) (*server.Agents, error) {
	c := server.AgentsConfig{Engine: served.Engine, Log: log, Now: env.Now, Token: token, Public: f.public, Origins: f.origins, MaxTurns: f.maxTurns}
	if served.Sites != nil {
		c.Bot = served.Sites.Bot
		if served.Sites.Server != nil {
			c.Healthy = served.Sites.Server.Healthy
		}
	}
	if served.History != nil {
		c.Events = served.History.Events
	}
	var err error
	if c.TrustedProxies, err = f.networks(); err != nil {
		return nil, err
	}
	agents, err := server.NewAgents(c)
	if err != nil {
		return nil, usage("--origin: %w", err)
	}
	return agents, nil
}

// answer answers requests until a signal, and then lets those in flight finish.
func (f *serveFlags) answer(ctx context.Context, env *Env, agents *server.Agents, log *slog.Logger, token string) error {
	listener, err := f.listen(ctx, token)
	if err != nil {
		return err
	}
	working, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &http.Server{
		Handler:           agents,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		BaseContext:       func(net.Listener) context.Context { return working },
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(listener) }()
	fmt.Fprintf(env.Stdout, "listening on http://%s\n", listener.Addr())
	select {
	case err := <-ended:
		return outcome(err)
	case <-env.Signals:
	case <-ctx.Done():
	}
	complete := f.drain(env, s, agents, cancel)
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return outcome(err)
	}
	if !complete {
		return &exitError{result.ExitInterrupted, errors.New("turns in flight were given up")}
	}
	return nil
}

// drain lets turns in flight finish within the grace period, or until a second signal; cancel gives up what is left. It reports whether all
// of them finished.
func (f *serveFlags) drain(env *Env, s *http.Server, agents *server.Agents, cancel context.CancelFunc) (complete bool) {
	fmt.Fprintf(env.Stderr, "finishing what is in flight (at most %s); press Ctrl-C again to stop at once\n", f.grace)
	within, done := context.WithTimeout(context.Background(), f.grace)
	defer done()
	finished, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-env.Signals:
			done()
		case <-finished:
		}
	}()
	drained := make(chan error, 1)
	go func() { drained <- agents.Drain(within) }()
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
func (f *serveFlags) listen(ctx context.Context, token string) (net.Listener, error) {
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
