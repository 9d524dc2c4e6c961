package target

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/template"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/eval/target/answer"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// HTTPConfig is an agent behind HTTP, as data.
type HTTPConfig struct {
	// Definition is the mapping that decides what is sent and how the answer is read.
	Definition string
	// URL is the address of a turn, a template.
	URL    string
	Bounds `json:"-"`

	turn       httpRequest
	opening    *httpOpen
	closing    *httpRequest
	answer     *answer.Spec
	session    *agentSession
	withoutJar bool
}

// httpOpen is the request before the first turn.
type httpOpen struct {
	httpRequest
	session *agentSession
	// text is where a greeting is; nil without one.
	text *answer.Pick
}

func httpKind() Kind {
	return Kind{
		Name: "http", Doc: "any agent behind HTTP", Short: "http://… or https://…", read: readHTTP,
		stands: func(text string) (map[string]any, bool) {
			return map[string]any{"url": text}, strings.HasPrefix(text, "http://") ||
				strings.HasPrefix(text, "https://")
		},
	}
}

// httpKeys are the keys of a target of the kind http.
type httpKeys struct {
	kindKeys
	boundsKeys
	answer.Keys
	requestKeys
	Preset  any           `key:"preset" schema:"preset"`
	Session *agentSession `key:"session" schema:"session"`
	Cookies *bool         `key:"cookies" doc:"each conversation has its own (true)"`
	Open    source.Node   `key:"open" schema:"open"`
	Close   source.Node   `key:"close" schema:"close"`
}

// readHTTP reads an agent as data or, where a flow is named, a server of our own contract.
func readHTTP(n source.Node, at config.Location) config.Target {
	if n.Has("flow") || n.Has("flow_id") {
		return readExecute(n, at)
	}
	trim := n.Has("preset")
	n = overPreset(n)
	c := HTTPConfig{answer: &answer.Spec{}}
	c.Definition = definition(n.Value)
	r := requestReader{scope: scopeOf(n, at), base: n, trim: trim}
	var k httpKeys
	source.Decode(n, &k)
	k.kindKeys.check()
	c.Bounds, *c.answer, c.session = k.bounds(), k.Spec(), k.Session
	c.withoutJar = k.Cookies != nil && !*k.Cookies
	r.read(&c.turn, k.requestKeys)
	if n.Has("open") {
		c.opening = r.open(k.Open)
	}
	if n.Has("close") {
		c.closing = r.close(k.Close)
	}
	if !n.Has("url") {
		n.Report("add `url:`, such as http://127.0.0.1:8080/chat", "an http target needs an address")
	}
	r.finish(&c.turn)
	if c.turn.body == nil && !n.Has("body") && c.turn.method != http.MethodGet {
		c.turn.body = defaultBody()
	}
	c.URL = r.written
	if c.session != nil && c.session.path != nil {
		c.answer.Session = c.session.path
	}
	c.check(n)
	return config.Target{Kind: "http", Options: c}
}

// defaultBody is what is sent where no body is written.
func defaultBody() *template.Template {
	t, err := template.Of(map[string]any{"message": "{{message}}", "session_id": "{{session_id}}"}, template.Scope{})
	if err != nil {
		panic(err)
	}
	return t
}

// definition returns what decides the replies: everything but limits and prices. It is JSON of several lines, so that
// fingerprints take none of its texts, such as the path of an address, for the name of a file.
func definition(v source.Value) string {
	whole, _ := v.Any().(map[string]any)
	for _, name := range []string{
		"concurrency", "requests_per_minute", "input_price", "output_price", "retries", "retry_after_max",
	} {
		delete(whole, name)
	}
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false) // secrets are found as they are written
	encoder.SetIndent("", " ")
	if err := encoder.Encode(whole); err != nil { // what a document holds can be encoded
		panic(err)
	}
	return b.String()
}

// scopeOf returns what placeholders of a target's texts may name.
func scopeOf(n source.Node, at config.Location) template.Scope {
	s := template.Scope{MCP: at.MCP}
	if with := n.Field("with"); with.Kind == source.Map {
		s.With = with.Value
	}
	return s
}

// check reports settings that cannot work together.
func (c *HTTPConfig) check(n source.Node) {
	if c.session != nil && c.opening != nil && c.opening.session != nil {
		n.Field("session").Report("keep one of them",
			"session and open.session both say where the session id comes from")
	}
	s := c.givenBy()
	if s == nil {
		return
	}
	back := c.turn.holds("session_id")
	at := n.Field("session")
	if c.session == nil {
		at = n.Field("open").Field("session")
	}
	if s.header != "" && (!back || !n.Has("body")) { // what the author has written holds it nowhere
		c.turn.sessionHeader = s.header
		if c.closing != nil {
			c.closing.sessionHeader = s.header
		}
		return
	}
	if !back && (s.path != nil || c.withoutJar) {
		at.Report("put {{session_id}} where the agent expects it", "the session id is sent back nowhere")
	}
}

// givenBy says where the agent gives its id, if it does.
func (c *HTTPConfig) givenBy() *agentSession {
	if c.opening != nil && c.opening.session != nil {
		return c.opening.session
	}
	return c.session
}

func (c HTTPConfig) open(_ config.Model, p Parts) (runner.Target, error) {
	return &HTTP{config: c, bounds: c.settled(p), client: p.Client, breaker: llm.NewBreaker(), parts: p}, nil
}

func (c HTTPConfig) asks(context.Context, config.Model, Parts) (Dependencies, error) {
	return Dependencies{Server: c.URL, Others: c.others(), Priced: c.priced(c.answer)}, nil
}

// others returns the addresses of the requests that open and close a conversation, where they go to another host than
// the turns.
func (c HTTPConfig) others() (addresses []string) {
	hosts := []string{hostOf(c.URL)}
	add := func(q *httpRequest) {
		if host := hostOf(q.written); !slices.Contains(hosts, host) {
			hosts, addresses = append(hosts, host), append(addresses, q.written)
		}
	}
	if c.opening != nil {
		add(&c.opening.httpRequest)
	}
	if c.closing != nil {
		add(c.closing)
	}
	return addresses
}

// hostOf returns what stands before the path of an address.
func hostOf(address string) string {
	scheme, rest, _ := strings.Cut(text.Address(address), "://")
	host, _, _ := strings.Cut(rest, "/")
	return strings.ToLower(scheme + "://" + host)
}

func (HTTPConfig) complete() bool { return true }

// placeholders returns all placeholders of what is sent.
func (c HTTPConfig) placeholders() []string {
	names := c.turn.names()
	if c.opening != nil {
		names = append(names, c.opening.names()...)
	}
	if c.closing != nil {
		names = append(names, c.closing.names()...)
	}
	return names
}
