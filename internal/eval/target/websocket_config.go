package target

import (
	"context"
	"maps"
	"net/url"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/template"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/eval/target/answer"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// WebsocketConfig is an agent behind a WebSocket as a target.
type WebsocketConfig struct {
	// Definition is the mapping that decides what is sent and how the answer is read.
	Definition any
	URL        string
	Bounds     `json:"-"`

	subprotocols  []string
	withoutJar    bool
	url           *template.Template
	headers       headers
	body, closing *template.Template
	greeting      *greeting
	answer        answered
}

func websocketKind() Kind {
	return Kind{Name: "websocket", Doc: "any agent behind a WebSocket", Short: "ws://… or wss://…", read: readWebsocket, stands: func(text string) (map[string]any, bool) {
		return map[string]any{"url": text}, isWebsocket(text)
	}}
}

// isWebsocket reports whether an address is that of a WebSocket.
func isWebsocket(address string) bool {
	scheme, _, ok := strings.Cut(strings.ToLower(address), "://")
	return ok && (scheme == "ws" || scheme == "wss")
}

func readWebsocket(n source.Node, at config.Location) config.Target {
	c := WebsocketConfig{Definition: definition(n.Value)}
	scope := scopeOf(n, at)
	fields := c.fields()
	maps.Copy(fields, c.answer.fields())
	fields["kind"], fields["with"] = func(source.Node) {}, readWith
	fields["url"] = func(n source.Node) { c.URL, c.url = n.Text(), readAddress(n, scope, "ws", "wss") }
	fields["headers"] = func(n source.Node) { c.headers = readHandshake(n, scope) }
	fields["subprotocols"] = func(n source.Node) { c.subprotocols = readSubprotocols(n) }
	fields["body"] = func(n source.Node) { c.body = template.ReadBody(n, scope) }
	fields["session"] = func(n source.Node) { c.answer.session = readSession(n) }
	fields["cookies"] = func(n source.Node) { c.withoutJar = !n.Bool() }
	fields["open"] = func(n source.Node) {
		c.greeting = &greeting{}
		n.Read(map[string]func(source.Node){
			"body": func(n source.Node) { c.greeting.body = template.ReadBody(n, scope) },
			"wait": func(n source.Node) { c.greeting.wait = answer.ReadPick(n) },
		})
	}
	fields["close"] = func(n source.Node) {
		n.Read(map[string]func(source.Node){"body": func(n source.Node) { c.closing = template.ReadBody(n, scope) }})
	}
	n.Read(fields)
	if !n.Has("url") {
		n.Report("add `url:`, such as ws://127.0.0.1:8080/chat", "a websocket target needs an address")
	}
	if c.body == nil {
		c.body = defaultBody()
	}
	if by := c.answer.session; by != nil && by.path != nil {
		c.answer.Session = by.path
		if !c.body.Uses("session_id") && !c.closing.Uses("session_id") {
			n.Field("session").Report("add \"{{session_id}}\" to `body`", "the session id is sent back nowhere")
		}
	}
	return config.Target{Kind: "websocket", Options: c}
}

// readHandshake reads the headers of a handshake, but for those that make it one.
func readHandshake(n source.Node, scope template.Scope) headers {
	all := readHeaders(n, scope)
	for _, h := range all {
		switch {
		case h.name == "Sec-Websocket-Protocol":
			n.Report("write `subprotocols: [NAME]`", "the subprotocols of a WebSocket have a key of their own")
		case strings.HasPrefix(h.name, "Sec-Websocket-"), h.name == "Connection", h.name == "Upgrade":
			n.Report("leave it out", "%s is part of every handshake", h.name)
		}
	}
	return all
}

func readSubprotocols(n source.Node) []string {
	names := n.Texts()
	for _, name := range names {
		if !isToken(name) {
			n.Report("write [NAME, …] without spaces and commas", "%q is no name of a subprotocol", name)
		}
	}
	return names
}

// readWith checks that the values of a target's templates are a mapping.
func readWith(n source.Node) {
	if n.Kind != source.Map {
		n.Report("write `name: value` pairs", "expected a mapping, got %s", n.Kind)
	}
}

// readAddress reads an address of one of some schemes, in which there may be placeholders.
func readAddress(n source.Node, scope template.Scope, schemes ...string) *template.Template {
	written := n.Text()
	parsed, err := url.Parse(strings.NewReplacer("{", "", "}", "").Replace(written))
	ok := false
	for _, scheme := range schemes {
		ok = ok || err == nil && strings.EqualFold(parsed.Scheme, scheme) && parsed.Host != ""
	}
	if !ok {
		n.Report("write an address that begins with "+strings.Join(schemes, ":// or ")+"://", "%q is no such address", text.Address(written))
	}
	return template.ReadText(n, scope)
}

func (c WebsocketConfig) open(_ config.Model, p Parts) (runner.Target, error) {
	bounds := c.settled(p)
	at := text.Address(c.URL)
	h := &handshake{client: p.Client, url: c.url, headers: c.headers, subprotocols: c.subprotocols, session: c.answer.session, withoutJar: c.withoutJar, breaker: llm.NewBreaker(), Bounds: bounds}
	return &spoken{
		kind: "websocket", at: at, address: c.URL, conversation: p.conversationID, Bounds: bounds, wrap: p.limited(c.limits("websocket"), at), begin: h.open, answer: c.answer,
		message:  func(v *template.Values) ([]byte, error) { return rendered(c.body, v) },
		greeting: c.greeting, closing: c.closing, trace: true, warn: p.Warn,
	}, nil
}

func (c WebsocketConfig) asks(context.Context, config.Model, Parts) (Dependencies, error) {
	return Dependencies{Server: c.URL, Priced: c.priced(&c.answer.Spec)}, nil
}

func (WebsocketConfig) complete() bool { return true }

// placeholders returns all placeholders of what is sent.
func (c WebsocketConfig) placeholders() []string {
	all := append([]*template.Template{c.url, c.body, c.closing}, c.headers.templates()...)
	if c.greeting != nil {
		all = append(all, c.greeting.body)
	}
	return namesOf(all)
}

// namesOf returns the placeholders of templates.
func namesOf(templates []*template.Template) (names []string) {
	for _, t := range templates {
		names = append(names, t.Names()...)
	}
	return names
}
