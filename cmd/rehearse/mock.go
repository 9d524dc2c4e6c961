package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
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
It listens on loopback unless told otherwise and stops at Ctrl-C. Programs of this machine need no key; to serve others, put one into
REHEARSE_TOKEN, which they send as OPENAI_API_KEY. Web pages of other sites are refused.`,
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
	token := env.Getenv(defaultTokenEnv)
	front := server.Front(server.OpenAI(model, server.Options{Latency: latency}), server.FrontConfig{Token: token})
	err := server.Serve(ctx, front, server.Listening{
		Addr: addr, Token: token, TokenEnv: defaultTokenEnv, Stop: env.Signals, Grace: 2 * time.Second,
		Opened: func(at net.Addr) { fmt.Fprintf(env.Stdout, "listening on http://%s/v1\n", at) },
	})
	if errors.Is(err, server.ErrGivenUp) { // whoever still holds on has had the time to finish
		return nil
	}
	return outcome(err)
}
