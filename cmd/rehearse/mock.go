package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"rehearse/internal/llm"
	"rehearse/internal/server"
	"rehearse/internal/source"
)

//go:embed mock.yaml
var mockScript []byte

func newMock(env *Env) *cobra.Command {
	var addr string
	var latency time.Duration
	c := &cobra.Command{
		Use:   "mock [SCRIPT]",
		Short: "Serve a scripted model as an OpenAI-compatible server",
		Long: `Serve a model played from a script as an OpenAI-compatible server (POST /v1/chat/completions, GET /v1/models, GET /healthz),
for demos, tests and CI without a key. Without a SCRIPT it answers every message in a friendly way and finds every criterion satisfied.
It listens on loopback unless told otherwise and stops at Ctrl-C.`,
		Example: `  rehearse mock                                  listen on 127.0.0.1:8089
  rehearse mock agent.yaml --addr 127.0.0.1:9000 --latency 50ms
  OPENAI_BASE_URL=http://127.0.0.1:8089/v1 rehearse run suite.yaml --target openai:any --judge openai:any`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			name, script := "the built-in script", mockScript
			if len(args) == 1 {
				data, err := os.ReadFile(args[0])
				if err != nil {
					return usage("cannot read the script: %w", err)
				}
				name, script = args[0], data
			}
			model, err := llm.LoadScript(name, script)
			if err != nil {
				return outcome(source.AsInvalid(err))
			}
			return serveMock(c.Context(), env, model, addr, latency)
		},
	}
	c.Flags().StringVar(&addr, "addr", "127.0.0.1:8089", "address to listen on; port 0 takes a free one")
	c.Flags().DurationVar(&latency, "latency", 0, "wait before every answer")
	return c
}

func serveMock(ctx context.Context, env *Env, model llm.Model, addr string, latency time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return outcome(fmt.Errorf("cannot listen on %s: %w (is the port taken? choose another with --addr)", addr, err))
	}
	s := &http.Server{
		Handler:           server.OpenAI(model, server.Options{Latency: latency}),
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	fmt.Fprintf(env.Stdout, "listening on http://%s/v1\n", listener.Addr())
	served := make(chan error, 1)
	go func() { served <- s.Serve(listener) }()
	select {
	case err := <-served:
		return outcome(err)
	case <-env.Signals:
	case <-ctx.Done():
	}
	cancel()
	closing, done := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer done()
	if err := s.Shutdown(closing); err != nil {
		_ = s.Close() // whoever still holds on has had the time to finish
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return outcome(err)
	}
	return nil
}
