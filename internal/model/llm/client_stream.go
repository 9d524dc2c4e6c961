package llm

import (
	"context"
	"io"
	"mime"
	"net/http"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

// assembler puts a reply together from the events of a stream.
type assembler interface {
	// add takes the data of one event.
	add(data []byte) error
	// complete reports whether what has come is a whole reply.
	complete() bool
	reply() (chat.Reply, error)
}

// Stream asks the endpoint once, for a reply as server-sent events. A stream that breaks off is an *Error of fault
// Unreachable. A server that answers as a whole nevertheless is understood.
func (c *Client) Stream(ctx context.Context, r Request, token func(string)) (chat.Reply, error) {
	return c.orWithoutSchema(r, func(r Request) (chat.Reply, error) { return c.ask(ctx, r, token) })
}

func (c *Client) inPieces(ctx context.Context, r Request, request call, token func(string)) (chat.Reply, error) {
	request.streamed = true
	res, err := c.endpoint.open(ctx, request)
	if err != nil {
		return chat.Reply{}, err
	}
	defer func() { _ = res.Body.Close() }()
	if !isEventStream(res) {
		answer, err := c.endpoint.read(ctx, res)
		if err != nil {
			return chat.Reply{}, err
		}
		reply, err := c.wire.decode(r, answer)
		return inOnePiece(reply, c.endpoint.undecoded(err), token)
	}
	assembled := c.wire.assemble(r, token)
	// It is read to its end, beyond the last event, because only then the connection can be used again.
	for data, err := range events(res.Body) {
		switch {
		case err != nil && assembled.complete():
			return c.assembled(assembled)
		case err != nil:
			return chat.Reply{}, c.endpoint.broken(ctx, err)
		}
		if err := assembled.add(data); err != nil {
			return chat.Reply{}, c.endpoint.undecoded(err)
		}
	}
	if !assembled.complete() {
		return chat.Reply{}, c.endpoint.broken(ctx, io.ErrUnexpectedEOF)
	}
	return c.assembled(assembled)
}

func (c *Client) assembled(a assembler) (chat.Reply, error) {
	reply, err := a.reply()
	return reply, c.endpoint.undecoded(err)
}

func isEventStream(res *http.Response) bool {
	kind, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	return err == nil && kind == "text/event-stream"
}
