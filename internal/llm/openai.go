package llm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"rehearse/internal/chat"
	"rehearse/internal/config"
)

var (
	_ Model    = (*OpenAI)(nil)
	_ Streamer = (*OpenAI)(nil)
)

// OpenAI is a model behind an OpenAI-compatible endpoint: chat completions or, with config.Model.API "responses", responses.
// A request carries what it was given and nothing else; parameters that it leaves open come from the configuration, if set there.
// It does not retry, except that a server that refuses response_format is asked again without it, now and from then on.
type OpenAI struct {
	endpoint *endpoint
	protocol protocol
	// schemaless is set once the server answered a request only after response_format was left out.
	schemaless atomic.Bool
}

// protocol is one of the two ways to ask for a reply.
type protocol struct {
	path   string
	encode func(m config.Model, r Request, public bool) (any, error)
	decode func(body []byte) (chat.Reply, error)
	// streamed encodes a request for a reply that is told while it comes; nil where that is not supported.
	streamed func(m config.Model, r Request, public bool) (any, error)
}

// NewOpenAI returns the model that m describes; o's Getenv finds the address and the key.
// It fails without a key only for OpenAI's own address, because a local server may need none.
func NewOpenAI(m config.Model, o Options) (*OpenAI, error) {
	e, err := newEndpoint(m, o)
	if err != nil {
		return nil, err
	}
	c := &OpenAI{endpoint: e, protocol: protocol{"chat/completions", encodeChat, decodeChat, encodeChatStream}}
	switch m.API {
	case "", "chat_completions":
	case "responses":
		c.protocol = protocol{"responses", encodeResponses, decodeResponses, nil}
	default:
		return nil, e.fail(&Error{
			Fault: Refused, Message: fmt.Sprintf("unknown API %q", m.API), Hint: "use chat_completions or responses",
		})
	}
	return c, nil
}

// At returns the address without credentials.
func (c *OpenAI) At() string { return c.endpoint.at }

// Generate asks the endpoint once.
func (c *OpenAI) Generate(ctx context.Context, r Request) (chat.Reply, error) {
	return c.orWithoutSchema(r, func(r Request) (chat.Reply, error) { return c.ask(ctx, r, c.protocol.encode, c.whole) })
}

// orWithoutSchema leaves the schema out for a server that does not know it.
func (c *OpenAI) orWithoutSchema(r Request, ask func(Request) (chat.Reply, error)) (chat.Reply, error) {
	if c.schemaless.Load() {
		r.Schema = nil
	}
	reply, err := ask(r)
	if r.Schema == nil || !refused(err) {
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

// ask sends a request as encode writes it and takes the reply that send returns.
func (c *OpenAI) ask(
	ctx context.Context, r Request,
	encode func(config.Model, Request, bool) (any, error), send sender,
) (chat.Reply, error) {
	m := c.endpoint.model
	body, err := encode(m, withDefaults(r, m), c.endpoint.public)
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
	start := time.Now()
	reply, err := send(ctx, call{path: c.protocol.path, body: data, node: r.Node})
	if err != nil {
		return chat.Reply{}, err
	}
	reply.Latency, reply.Attempts, reply.Cost = time.Since(start), 1, cost(m, reply.Usage)
	return reply, nil
}

// sender sends a request and reads the reply.
type sender func(context.Context, call) (chat.Reply, error)

func (c *OpenAI) whole(ctx context.Context, request call) (chat.Reply, error) {
	answer, err := c.endpoint.post(ctx, request)
	if err != nil {
		return chat.Reply{}, err
	}
	reply, err := c.protocol.decode(answer)
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
