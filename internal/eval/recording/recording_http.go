package recording

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// serviceName is what recordings call the services that graders and chatbots call over HTTP.
const serviceName = "http"

// maxService bounds the body of a service's answer.
const maxService = 64 << 20

// recordedTransport records what services answer, or plays it, so that no request leaves the program during playback.
type recordedTransport struct {
	recording *Recording
	http.RoundTripper
}

// Transport wraps the transport for services that graders, flows and chatbots call.
func (r *Recording) Transport(transport http.RoundTripper) http.RoundTripper {
	if r.Off() {
		return transport
	}
	return recordedTransport{r, transport}
}

// Receipts wraps the transport for what is only sent: nothing that is graded depends on an answer, and playback sends
// nothing.
func (r *Recording) Receipts(transport http.RoundTripper) http.RoundTripper {
	if r.player == nil {
		return transport
	}
	return unsent{}
}

type serviceRequest struct {
	Method string `json:"method"`
	URL    string `json:"url"`
	Body   string `json:"body"`
}

type serviceAnswer struct {
	Status string      `json:"status"`
	Code   int         `json:"code"`
	Header http.Header `json:"header,omitempty"`
	Body   string      `json:"body"`
}

// RoundTrip sends a request, or plays its answer. Headers are not part of a recorded request: they contain keys.
func (t recordedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); errors.Join(err, r.Body.Close()) != nil {
			return nil, err
		}
	}
	shown := *r.URL
	shown.User = nil
	asked, err := json.Marshal(serviceRequest{r.Method, shown.String(), timeless(body)})
	if err != nil {
		return nil, err
	}
	// A service is not a model: its caller reports what its failure means.
	ctx, _ := llm.NoteLack(r.Context())
	server := t.recording.Model(serviceName, service{t.RoundTripper, r, body})
	reply, err := server.Generate(ctx, llm.Request{Messages: []chat.Message{chat.NewMessage(chat.User, string(asked))}})
	if failed, ok := errors.AsType[*llm.Error](err); ok && failed.Fault != llm.Unrecorded {
		return nil, errors.New(failed.Message) // the same live and from a recording
	}
	if err != nil {
		return nil, err
	}
	var a serviceAnswer
	if err := json.Unmarshal([]byte(reply.Text), &a); err != nil {
		return nil, fmt.Errorf("read the recorded answer: %w", err)
	}
	return &http.Response{
		Status: a.Status, StatusCode: a.Code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: a.Header,
		Request: r, Body: io.NopCloser(strings.NewReader(a.Body)), ContentLength: int64(len(a.Body)),
	}, nil
}

// timeless returns a body without the times and ids of an exchange, which no two runs have in common. A body that is no
// JSON stays as it is.
func timeless(body []byte) string {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var v any
	if decoder.Decode(&v) != nil || decoder.More() {
		return string(body)
	}
	data, err := json.Marshal(withoutTimes(v))
	if err != nil {
		return string(body)
	}
	return string(data)
}

func withoutTimes(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = withoutTimes(v[i])
		}
	case map[string]any:
		for name, one := range v {
			switch name {
			case "latency_ms", "duration_ms", "trace_id", "session_id", "conversation_id":
				delete(v, name)
			default:
				v[name] = withoutTimes(one)
			}
		}
	}
	return v
}

// service is one request as a model, so that the recording fits around it.
type service struct {
	transport http.RoundTripper
	request   *http.Request
	body      []byte
}

// Generate sends the request.
func (s service) Generate(ctx context.Context, _ llm.Request) (chat.Reply, error) {
	request := s.request.Clone(ctx)
	request.Body = io.NopCloser(bytes.NewReader(s.body))
	a, err := s.send(request)
	switch {
	case err != nil && ctx.Err() != nil:
		return chat.Reply{}, ctx.Err()
	case err != nil:
		return chat.Reply{}, &llm.Error{Fault: llm.Unreachable, Model: serviceName, Message: err.Error(), Err: err}
	}
	text, err := json.Marshal(a)
	return chat.Reply{Text: string(text)}, err
}

func (s service) send(request *http.Request) (a serviceAnswer, err error) {
	response, err := s.transport.RoundTrip(request)
	if err != nil {
		return a, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxService))
	if err != nil {
		return a, fmt.Errorf("response: %w", err)
	}
	a = serviceAnswer{Status: response.Status, Code: response.StatusCode, Header: http.Header{}, Body: string(body)}
	for _, name := range []string{"Content-Type", "Location", "Retry-After"} {
		if values := response.Header.Values(name); len(values) > 0 {
			a.Header[name] = values
		}
	}
	return a, nil
}

// unsent takes requests and sends none.
type unsent struct{}

// RoundTrip answers that all is well.
func (unsent) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_ = r.Body.Close() // it is not read
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: http.NoBody, Request: r,
	}, nil
}
