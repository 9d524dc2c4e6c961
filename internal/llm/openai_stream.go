package llm

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"

	"rehearse/internal/chat"
	"rehearse/internal/config"
)

// The body of POST /chat/completions for a reply in pieces, whose last one tells the usage.
type chatStreamBody struct {
	chatBody
	Stream  bool   `json:"stream"`
	Options object `json:"stream_options"`
}

func encodeChatStream(m config.Model, r Request, public bool) (any, error) {
	body, err := encodeChat(m, r, public)
	if err != nil {
		return nil, err
	}
	plain, ok := body.(chatBody)
	if !ok {
		return nil, errors.New("not a chat completion")
	}
	return chatStreamBody{plain, true, object{"include_usage": true}}, nil
}

// Stream asks the endpoint once, for a reply as server-sent events. Of the responses API it gives the text in one piece.
// A stream that breaks off is an *Error of fault Unreachable. A server that answers as a whole nevertheless is understood.
func (c *OpenAI) Stream(ctx context.Context, r Request, token func(string)) (chat.Reply, error) {
	if c.protocol.streamed == nil {
		reply, err := c.Generate(ctx, r)
		return inOnePiece(reply, err, token)
	}
	return c.orWithoutSchema(r, func(r Request) (chat.Reply, error) {
		return c.ask(ctx, r, c.protocol.streamed, func(ctx context.Context, request call) (chat.Reply, error) {
			return c.inPieces(ctx, request, token)
		})
	})
}

func (c *OpenAI) inPieces(ctx context.Context, request call, token func(string)) (chat.Reply, error) {
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
		reply, err := c.protocol.decode(answer)
		return inOnePiece(reply, c.endpoint.undecoded(err), token)
	}
	assembled := assembly{token: token}
	// It is read to its end, beyond the last event, because only then the connection can be used again.
	for data, err := range events(res.Body) {
		switch {
		case err != nil && assembled.complete():
			return c.assembled(&assembled)
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
	return c.assembled(&assembled)
}

func (c *OpenAI) assembled(a *assembly) (chat.Reply, error) {
	reply, err := a.reply()
	return reply, c.endpoint.undecoded(err)
}

func isEventStream(res *http.Response) bool {
	kind, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	return err == nil && kind == "text/event-stream"
}

// chunk is one event of a streamed chat completion (https://platform.openai.com/docs/api-reference/chat-streaming).
type chunk struct {
	Choices []struct {
		Index int `json:"index"`
		Delta struct {
			Content   any         `json:"content"`
			Refusal   string      `json:"refusal"`
			ToolCalls []callDelta `json:"tool_calls"`
		} `json:"delta"`
		Finish string `json:"finish_reason"`
	} `json:"choices"`
	Usage *answerUsage `json:"usage"`
	Error *answerError `json:"error"`
}

// callDelta is a piece of the tool call at Index. Some servers leave the index out and send each call as a whole.
type callDelta struct {
	Index *int `json:"index"`
	answerCall
}

// text returns the piece of the arguments, which some servers send as an object.
func (d *callDelta) text() string {
	var text string
	if json.Unmarshal(d.Function.Arguments, &text) != nil {
		text = string(d.Function.Arguments)
	}
	return text
}
