package target

import (
	"context"
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
	return Kind{
		Name: "websocket", Doc: "any agent behind a WebSocket", Short: "ws://… or wss://…", read: readWebsocket,
		stands: func(text string) (map[string]any, bool) {
			return map[string]any{"url": text}, isWebsocket(text)
		},
	}
}

// isWebsocket reports whether an address is that of a WebSocket.
func isWebsocket(address string) bool {
	scheme, _, ok := strings.Cut(strings.ToLower(address), "://")
	return ok && (scheme == "ws" || scheme == "wss")
}

// websocketKeys are the keys of a target of the kind websocket.
type websocketKeys struct {
	kindKeys
	boundsKeys
	answer.Keys
	URL          string          `key:"url"`
	Headers      source.Node     `key:"headers" schema:"headers"`
	Subprotocols source.Node     `key:"subprotocols" schema:"texts"`
	Body         source.Node     `key:"body" doc:"a mapping or list is sent as JSON; a text as it is"`
	Session      *agentSession   `key:"session" schema:"session"`
	Cookies      *bool           `key:"cookies" doc:"each conversation has its own (true)"`
	Open         *websocketOpen  `key:"open"`
	Close        *websocketClose `key:"close"`
}

// websocketOpen are the keys of what is sent before the first turn.
type websocketOpen struct {
	Body source.Node  `key:"body"`
	Wait *answer.Pick `key:"wait" schema:"pick"`
}

// websocketClose are the keys of what is sent after the last turn.
type websocketClose struct {
	Body source.Node `key:"body"`
}

func readWebsocket(n source.Node, at config.Location) config.Target {
	c := WebsocketConfig{Definition: definition(n.Value)}
	scope := scopeOf(n, at)
	var k websocketKeys
	source.Decode(n, &k)
	k.kindKeys.check()
	c.Bounds, c.answer = k.bounds(), answered{Spec: k.Spec(), session: k.Session}
	c.withoutJar = k.Cookies != nil && !*k.Cookies
	if n.Has("url") {
		c.URL, c.url = k.URL, readAddress(n.Field("url"), scope, "ws", "wss")
	}
	if n.Has("headers") {
		c.headers = readHandshake(k.Headers, scope)
	}
	if n.Has("subprotocols") {
		c.subprotocols = readSubprotocols(n.Field("subprotocols"))
	}
	if n.Has("body") {
		c.body = template.ReadBody(k.Body, scope)
	}
	if k.Open != nil {
		c.greeting = &greeting{wait: k.Open.Wait}
		if k.Open.Body.Kind != source.Null {
			c.greeting.body = template.ReadBody(k.Open.Body, scope)
		}
	}
	if k.Close != nil && k.Close.Body.Kind != source.Null {
		c.closing = template.ReadBody(k.Close.Body, scope)
	}
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

// readAddress reads an address of one of some schemes, in which there may be placeholders.
func readAddress(n source.Node, scope template.Scope, schemes ...string) *template.Template {
	written := n.Text()
	parsed, err := url.Parse(strings.NewReplacer("{", "", "}", "").Replace(written))
	ok := false
	for _, scheme := range schemes {
		ok = ok || err == nil && strings.EqualFold(parsed.Scheme, scheme) && parsed.Host != ""
	}
	if !ok {
		n.Report("write an address that begins with "+strings.Join(schemes, ":// or ")+"://", "%q is no such address",
			text.Address(written))
	}
	return template.ReadText(n, scope)
}

func (c WebsocketConfig) open(_ config.Model, p Parts) (runner.Target, error) {
	bounds := c.settled(p)
	at := text.Address(c.URL)
	h := &handshake{
		client: p.Client, url: c.url, headers: c.headers, subprotocols: c.subprotocols, session: c.answer.session,
		withoutJar: c.withoutJar, breaker: llm.NewBreaker(), Bounds: bounds,
	}
	return &spoken{
		kind: "websocket", at: at, address: c.URL, conversation: p.conversationID, Bounds: bounds,
		wrap: p.limited(c.limits("websocket"), at), begin: h.open, answer: c.answer,
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
