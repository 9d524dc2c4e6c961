package target

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/eval/target/answer"
	"github.com/rehearse-dev/rehearse/internal/model/a2a"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// A2AConfig is an agent of the A2A protocol as a target.
type A2AConfig struct {
	// Definition is the mapping that decides what is sent.
	Definition string
	// URL is the agent's base, its card or an endpoint without one; a template.
	URL string
	// Stream asks for answers as streams, where the agent can.
	Stream bool
	Bounds

	// request has the address and the headers of every request.
	request httpRequest
}

func a2aKind() Kind {
	return Kind{
		Name: "a2a", Doc: "an agent of the A2A protocol, 1.0 or 0.3", Short: "a2a:URL", read: readA2A,
		stands: func(text string) (map[string]any, bool) {
			address, ok := strings.CutPrefix(text, "a2a:")
			return map[string]any{"kind": "a2a", "url": address}, ok
		},
	}
}

// a2aKeys are the keys of a target of the kind a2a.
type a2aKeys struct {
	kindKeys
	boundsKeys
	Preset  any         `key:"preset" schema:"a2a_preset"`
	URL     string      `key:"url"`
	Headers source.Node `key:"headers" schema:"headers"`
	Stream  bool        `key:"stream"`
}

func readA2A(n source.Node, at config.Location) config.Target {
	c := A2AConfig{Definition: definition(n.Value)}
	r := requestReader{scope: scopeOf(n, at), base: n}
	var k a2aKeys
	source.Decode(n, &k)
	k.kindKeys.check()
	c.URL, c.Stream, c.Bounds = k.URL, k.Stream, k.bounds()
	if k.Headers.Kind != source.Null {
		c.request.headers = readHeaders(k.Headers, r.scope)
	}
	if !n.Has("url") {
		n.Report("add `url:`, such as https://agent.example", "an a2a target needs an address")
	}
	c.request.method = http.MethodGet
	r.written, r.at = c.URL, n.Field("url")
	r.settle(&c.request)
	return config.Target{Kind: "a2a", Options: c}
}

func (c A2AConfig) open(_ config.Model, p Parts) (runner.Target, error) {
	h := HTTPConfig{URL: c.URL, answer: &answer.Spec{}}
	if c.Stream {
		h.answer.Stream = &answer.Stream{
			Format: answer.SSE, Text: answer.ReadPick((&source.Reader{}).Node(source.FromAny("$..text"), "")),
		}
	}
	t := &A2A{request: &c.request, stream: c.Stream}
	t.HTTP = &HTTP{config: h, bounds: c.settled(p), client: p.Client, breaker: llm.NewBreaker(), parts: p}
	return t, nil
}

func (c A2AConfig) asks(context.Context, config.Model, Parts) (Dependencies, error) {
	return Dependencies{Server: c.URL}, nil
}

func (A2AConfig) complete() bool { return true }

// placeholders returns all placeholders of what is sent: the message, and those of the address and the headers.
func (c A2AConfig) placeholders() []string { return append(c.request.names(), "message") }

// cardOf returns the address of an agent's card.
func cardOf(address string) string {
	parsed, err := url.Parse(address)
	if err != nil || strings.HasSuffix(parsed.Path, ".json") {
		return address
	}
	parsed.Path, parsed.RawPath, parsed.Fragment = strings.TrimSuffix(parsed.Path, "/")+a2a.WellKnown, "", ""
	return parsed.String()
}
