package target

import (
	"cmp"
	"context"
	"net/http"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/base/collect"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// ExecuteConfig is a flow behind an HTTP address as a target.
type ExecuteConfig struct {
	Flow FlowConfig
	URL  string
	// TokenEnv names the environment variable with a bearer token; empty sends none.
	TokenEnv string
	Headers  map[string]string
	Bounds
}

func executeKind() Kind {
	return Kind{Name: "execute", Doc: "a flow of a server that answers POST /execute", read: readExecute}
}

// executeKeys are the keys of a target of the kind execute.
type executeKeys struct {
	flowKeys
	boundsKeys
	URL      string            `key:"url"`
	TokenEnv string            `key:"token_env" doc:"the variable that has a bearer token"`
	Headers  map[string]string `key:"headers"`
}

func readExecute(n source.Node, at config.Location) config.Target {
	var k executeKeys
	source.Decode(n, &k)
	c := ExecuteConfig{Flow: k.config(at), URL: k.URL, TokenEnv: k.TokenEnv, Headers: k.Headers, Bounds: k.bounds()}
	if c.Headers == nil {
		c.Headers = map[string]string{}
	}
	if !n.Has("url") {
		n.Report("add `url:`, such as http://127.0.0.1:8080/execute", "an execute target needs an address")
	}
	if !n.Has("flow") && !n.Has("flow_id") {
		n.Report("add `flow_id:` with the name of the server's flow, or `flow:` with a file to send",
			"an execute target needs a flow")
	}
	return config.Target{Kind: "execute", Options: c}
}

func (c ExecuteConfig) open(_ config.Model, p Parts) (runner.Target, error) {
	bounds := c.settled(p)
	bounds.MaxBytes = cmp.Or(c.MaxBytes, maxResult)
	e := &Execute{
		URL: c.URL, FlowSettings: c.Flow.Settings(), Header: http.Header{},
		Flow: flow.Source{Ref: flow.Slug(c.Flow.ID)}, Client: collect.Exchanges(p.Client), Timeout: bounds.Timeout,
		Retries: *bounds.Retries, bounds: bounds, Start: cmp.Or(c.Flow.Start, "start"),
		Wrap: func(server llm.Model) llm.Model { return p.Recorded(executeName, server) },
	}
	if p.Limited != nil {
		e.Limit = func(call llm.Model) llm.Model { return p.Limited(call, c.limits("execute"), text.Address(c.URL)) }
	}
	for name, value := range c.Headers {
		e.Header.Set(name, value)
	}
	if c.TokenEnv != "" {
		token, err := p.Token(c.TokenEnv)
		if err != nil {
			return nil, err
		}
		e.Header.Set("Authorization", "Bearer "+token)
	}
	if c.Flow.Path == "" {
		return e, nil
	}
	return e, e.carry(c.Flow, p)
}

// executeName is what recordings call the server: its address is not part of them, and the conversation says which
// target it is.
const executeName = "execute"

// carry makes the target send the whole flow with every turn.
func (e *Execute) carry(c FlowConfig, p Parts) error {
	f, err := p.Definition(c)
	if err != nil {
		return err
	}
	if f.Machine {
		return source.Invalid(
			"%s is a state machine, which a server must know itself: use `flow_id: %s` without `flow`", c.Path,
			flow.Slug(f.ID))
	}
	definition, err := f.Definition()
	if err != nil {
		return source.Invalid("%s: %w: use `flow_id: %s` without `flow`", c.Path, err, flow.Slug(f.ID))
	}
	e.Flow, e.Start = flow.Source{Inline: definition}, cmp.Or(c.Start, f.Start.ID)
	return nil
}

func (c ExecuteConfig) asks(context.Context, config.Model, Parts) (Dependencies, error) {
	return Dependencies{Server: c.URL}, nil
}

func (ExecuteConfig) complete() bool { return true }
