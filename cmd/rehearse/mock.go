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

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/tool"
	"github.com/rehearse-dev/rehearse/internal/fleet/access"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
	"github.com/rehearse-dev/rehearse/internal/model/mcp"
	"github.com/rehearse-dev/rehearse/internal/web/api"
)

//go:embed mock.yaml
var mockScript []byte

func newMock(env *Env) *cobra.Command {
	var addr, tools, log string
	var latency time.Duration
	c := &cobra.Command{
		Use:   "mock [SCRIPT]",
		Short: "Serve a scripted model as an OpenAI-compatible server, or scripted tools as an MCP server",
		Long: `Serve a model played from a script as an OpenAI-compatible server (POST /v1/chat/completions, GET /v1/models, GET /healthz),
for demos, tests and CI without a key. Without a SCRIPT it answers every message in a friendly way and finds every criterion satisfied.
It listens on loopback unless told otherwise and stops at Ctrl-C. Programs of this machine need no key; to serve others, put one into
REHEARSE_TOKEN, which everybody then sends as OPENAI_API_KEY. Web pages of other sites are refused.

With --mcp FILE it is an MCP server instead, with the tools of FILE and their results (docs/models.md): on standard input and output or, with --addr,
as streamable HTTP at /mcp. --log FILE appends each call as a line of JSON.`,
		Example: `  rehearse mock                                  listen on 127.0.0.1:8089
  rehearse mock agent.yaml --addr 127.0.0.1:9000 --latency 50ms
  OPENAI_BASE_URL=http://127.0.0.1:8089/v1 rehearse run suite.yaml --target openai:any --judge openai:any
  rehearse mock --mcp tools.yaml --addr 127.0.0.1:9100 --log calls.jsonl`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case tools != "" && len(args) > 0:
				return usage("--mcp serves tools and SCRIPT a model: give one of them")
			case tools == "" && log != "":
				return usage("--log keeps the calls of tools: it needs --mcp FILE")
			case tools != "":
				if !c.Flags().Changed("addr") {
					addr = ""
				}
				return env.mockTools(c.Context(), tools, addr, log)
			}
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
	c.Flags().StringVar(&tools, "mcp", "", "serve the tools of this file as an MCP server: on stdio, or at --addr")
	c.Flags().StringVar(&log, "log", "", "with --mcp: append each call to this file, a line of JSON each")
	c.Flags().DurationVar(&latency, "latency", 0, "wait before every answer")
	return c
}

func serveMock(ctx context.Context, env *Env, model llm.Model, addr string, latency time.Duration) error {
	token := env.Getenv(defaultTokenEnv)
	front := api.Front(api.OpenAI(model, api.Options{Latency: latency}), keyed(token))
	err := api.Serve(ctx, front, api.Listening{
		Addr: addr, Guarded: token != "", TokenEnv: defaultTokenEnv, Stop: env.Signals, Grace: 2 * time.Second,
		Opened: func(at net.Addr) { fmt.Fprintf(env.Stdout, "listening on http://%s/v1\n", at) },
	})
	if errors.Is(err, api.ErrGivenUp) { // open connections had the grace period
		return nil
	}
	return outcome(err)
}

// keyed says who may come in: where there is no token, programs of this machine may send the key of a provider, as its
// clients do.
func keyed(token string) api.FrontConfig {
	return api.FrontConfig{Access: access.New(access.Config{Token: token}), AnyKey: true}
}

// mockTools serves the tools of a file: over HTTP at an address, else on standard input and output. Calls are appended
// to log, if it is named.
func (e *Env) mockTools(ctx context.Context, file, addr, log string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return usage("cannot read the tools: %w", err)
	}
	set, err := tool.Load(source.Files{}, file, data)
	if err != nil {
		return outcome(source.AsInvalid(err))
	}
	taken := func(mcp.Call) {}
	if log != "" {
		kept, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return usage("cannot write the log: %w", err)
		}
		defer func() { _ = kept.Close() }() // each call was written whole, or a warning said so
		taken = func(c mcp.Call) {
			if err := mcp.Append(kept, c, e.secrets.Bytes); err != nil {
				fmt.Fprintf(e.Stderr, "rehearse: a call is not in %s: %v\n", log, err)
			}
		}
	}
	tools := mcp.New(set, version(), taken)
	if addr == "" {
		return outcome(tools.Serve(ctx, e.Stdin, e.Stdout))
	}
	token := e.Getenv(defaultTokenEnv)
	err = api.Serve(ctx, api.Front(tools.Handler(), keyed(token)), api.Listening{
		Addr: addr, Guarded: token != "", TokenEnv: defaultTokenEnv, Stop: e.Signals, Grace: 2 * time.Second,
		Opened: func(at net.Addr) { fmt.Fprintf(e.Stdout, "listening on http://%s%s\n", at, mcp.Path) },
	})
	if errors.Is(err, api.ErrGivenUp) {
		return nil
	}
	return outcome(err)
}
