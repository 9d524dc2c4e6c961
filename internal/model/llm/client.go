package llm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/trace"
)

var (
	_ Model    = (*Client)(nil)
	_ Streamer = (*Client)(nil)
)

// Client is a model that is asked over HTTP, in the format of its provider. A request carries what it was given and
// nothing else; parameters that it leaves open come from the configuration, if set there. It does not retry, except
// that an OpenAI-compatible server that refuses response_format is asked again without it, now and from then on.
type Client struct {
	endpoint *endpoint
	wire     wire
	warn     func(text string)
	// schemaless is set once the server answered a request only after response_format was left out.
	schemaless atomic.Bool
}

// wire is a format of requests and answers.
type wire struct {
	// path is where a request goes below the base URL, with its query; streamed is where one for a stream goes, if that
	// is another place.
	path, streamed requestPath
	// conversations is where a conversation is made that the provider keeps.
	conversations requestPath
	encode        func(r Request, streamed bool) (any, error)
	// decode reads the answer to a request.
	decode func(r Request, body []byte) (chat.Reply, error)
	// assemble returns what puts a streamed answer together. It gives the text to token as it comes.
	assemble func(r Request, token func(string)) assembler
	// optionalSchema is true of a format whose servers do not all know schemas.
	optionalSchema bool
	// seedless is true of a format without a seed.
	seedless bool
}

// unknownAPI is the error of a configured API that the provider does not have.
func unknownAPI(m config.Model, hint string) *Error {
	return &Error{Fault: Refused, Message: fmt.Sprintf("unknown API %q", m.API), Hint: hint}
}

// requestPath is a path below a base URL, and a query.
type requestPath struct{ path, query string }

// NewClient returns the model that m describes; o's Getenv finds the address and the key.
// It fails without a key only for the provider's own address, because another server may need none.
func NewClient(m config.Model, o Options) (*Client, error) {
	e, err := newEndpoint(m, o)
	if err != nil {
		return nil, err
	}
	w, wrong := e.vendor.wire(m, e.public)
	if wrong != nil {
		return nil, e.fail(wrong)
	}
	c := &Client{endpoint: e, wire: w, warn: o.Warn}
	if c.warn == nil {
		c.warn = func(string) {}
	}
	return c, nil
}

// At returns the address without credentials.
func (c *Client) At() string { return c.endpoint.at }

// Generate asks the endpoint once.
func (c *Client) Generate(ctx context.Context, r Request) (chat.Reply, error) {
	return c.orWithoutSchema(r, func(r Request) (chat.Reply, error) { return c.ask(ctx, r, nil) })
}

// orWithoutSchema leaves the schema out for a server that does not know it.
func (c *Client) orWithoutSchema(r Request, ask func(Request) (chat.Reply, error)) (chat.Reply, error) {
	if c.schemaless.Load() {
		r.Schema = nil
	}
	reply, err := ask(r)
	if r.Schema == nil || !c.wire.optionalSchema || !refused(err) {
		return reply, err
	}
	// The refusal may be about something else, so only an answer without the schema proves that the schema was.
	r.Schema = nil
	reply, err = ask(r)
	if err == nil {
		c.schemaless.Store(true)
	}
	return reply, err
}

func refused(err error) bool {
	var e *Error
	return errors.As(err, &e) && (e.Status == http.StatusBadRequest || e.Status == http.StatusUnprocessableEntity)
}

// ask sends a request, as a span. With a token, the reply is streamed to it.
func (c *Client) ask(ctx context.Context, r Request, token func(string)) (chat.Reply, error) {
	if id := conversationID(r); id != "" {
		ctx = trace.Of(ctx, id)
	}
	ctx, span := beginCall(ctx, c.endpoint.model, r)
	reply, err := c.request(ctx, r, token)
	endCall(span, reply, err)
	return reply, err
}

func (c *Client) request(ctx context.Context, r Request, token func(string)) (chat.Reply, error) {
	m := c.endpoint.model
	r, err := c.begun(ctx, c.supported(withDefaults(r, m)))
	if err != nil {
		return chat.Reply{}, err
	}
	body, err := c.wire.encode(r, token != nil)
	var data []byte
	if err == nil {
		data, err = encodeJSON(body)
	}
	if err != nil {
		return chat.Reply{}, c.endpoint.fail(&Error{
			Fault: Refused, Message: "the request cannot be written as JSON: " + clip(oneLine(err.Error())),
			Hint: "check the tools, the schema and the content blocks", Err: err,
		})
	}
	request := call{
		requestPath: c.wire.path, body: data, node: r.Node, values: valuesOf(ctx, r), conversation: conversationID(r),
	}
	start := time.Now()
	var reply chat.Reply
	if token == nil {
		reply, err = c.whole(ctx, r, request)
	} else {
		if c.wire.streamed.path != "" {
			request.requestPath = c.wire.streamed
		}
		first := time.Duration(0)
		reply, err = c.inPieces(ctx, r, request, func(text string) {
			if first == 0 {
				first = time.Since(start)
			}
			token(text)
		})
		reply.FirstText = first
	}
	if err == nil {
		reply, err = threaded(r, reply)
		err = c.endpoint.undecoded(err)
	}
	if err != nil {
		return chat.Reply{}, err
	}
	reply.Latency, reply.Attempts, reply.Cost = time.Since(start), 1, cost(m, reply.Usage)
	if request.conversation != "" {
		reply.TraceID = trace.ID(request.conversation)
	}
	return reply, nil
}

// supported leaves out what the provider does not have, with a warning.
func (c *Client) supported(r Request) Request {
	if r.Seed != nil && c.wire.seedless {
		c.warn(fmt.Sprintf("%s has no seed: it is left out of the requests", c.endpoint.model))
		r.Seed = nil
	}
	return r
}

func (c *Client) whole(ctx context.Context, r Request, request call) (chat.Reply, error) {
	answer, err := c.endpoint.post(ctx, request)
	if err != nil {
		return chat.Reply{}, err
	}
	reply, err := c.wire.decode(r, answer)
	return reply, c.endpoint.undecoded(err)
}

// withDefaults fills the parameters that a request leaves open from the configuration.
func withDefaults(r Request, m config.Model) Request {
	if r.Temperature == nil {
		r.Temperature = m.Temperature
	}
	if r.TopP == nil {
		r.TopP = m.TopP
	}
	if r.Seed == nil {
		r.Seed = m.Seed
	}
	if r.MaxTokens == 0 {
		r.MaxTokens = m.MaxTokens
	}
	return r
}
