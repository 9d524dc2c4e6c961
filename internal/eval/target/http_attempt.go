package target

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/httpclient"
	"github.com/rehearse-dev/rehearse/internal/base/retry"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/base/trace"
	"github.com/rehearse-dev/rehearse/internal/eval/target/answer"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// httpAttempt sends one request once.
type httpAttempt struct {
	*httpSession
	call *httpCall
	// turn is true of a request that says the user's message, whose answer may be a stream.
	turn bool
}

// Generate sends the request and returns what is kept of the answer. The error is an *llm.Error, or that of ctx.
func (a httpAttempt) Generate(ctx context.Context, _ llm.Request) (chat.Reply, error) {
	attempting(ctx)
	started := time.Now()
	limited, cancel := context.WithTimeout(ctx, a.bounds.Timeout)
	defer cancel()
	limited, span := sending(trace.Of(limited, a.values.ConversationID), a.kind, a.call.url)
	var first time.Duration
	got, err := a.send(limited, func() { first = time.Since(started) })
	sent(span, err)
	switch {
	case err == nil:
		kept, err := json.Marshal(got)
		return chat.Reply{Text: string(kept), Latency: time.Since(started), FirstText: first, Attempts: 1}, err
	case ctx.Err() != nil:
		return chat.Reply{}, ctx.Err()
	}
	return chat.Reply{}, a.faultOf(limited, err).error(shownAddress(a.call.url))
}

// faultOf says what an error of send means.
func (a httpAttempt) faultOf(ctx context.Context, err error) *httpFault {
	if f, ok := errors.AsType[*httpFault](err); ok {
		return f
	}
	again := a.bounds.Idempotent
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &httpFault{
			fault: llm.TimedOut, again: again,
			message: fmt.Sprintf(": no answer within %s (raise timeout if it needs longer)", a.bounds.Timeout),
		}
	case errors.Is(err, answer.ErrBrokeOff):
		return &httpFault{fault: llm.Malformed, again: again, message: ": " + err.Error()}
	}
	return &httpFault{fault: llm.Malformed, message: ": " + err.Error()}
}

// unanswered is the fault of a request that got no answer. It cannot have been taken when there was no connection.
func (a httpAttempt) unanswered(err error, connected bool) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err // that of the client repeats the whole address
	}
	if private, ok := errors.AsType[*httpclient.PrivateError](err); ok {
		return &httpFault{fault: llm.Refused, message: ": " + private.Error()}
	}
	what := text.OneLine(err.Error(), 200)
	if connected {
		return &httpFault{
			fault: llm.Malformed, again: a.bounds.Idempotent,
			message: ": the connection broke off before there was an answer: " + what,
		}
	}
	return &httpFault{
		fault: llm.Unreachable, again: true, message: " cannot be reached: " + what + " (is the server running?)",
	}
}

func (a httpAttempt) send(ctx context.Context, spoke func()) (got httpAnswer, err error) {
	var connected atomic.Bool // a connection may be made while nobody waits for it any more
	request, err := a.request(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	}))
	if err != nil {
		return got, &httpFault{fault: llm.Refused, message: " is no address that can be asked"}
	}
	response, err := a.client.Do(request)
	if err != nil {
		if ctx.Err() != nil {
			return got, ctx.Err()
		}
		return got, a.unanswered(err, connected.Load())
	}
	defer response.Body.Close() //nolint:errcheck // the body was read to its end or is abandoned
	if response.StatusCode/100 != 2 {
		return got, a.refused(response)
	}
	got = httpAnswer{Status: response.StatusCode, Type: response.Header.Get("Content-Type")}
	a.acceptID(response, &got)
	if !a.turn {
		body, err := answer.ReadAll(response.Body, a.bounds.MaxBytes)
		if got.Body = string(body); err == nil && !utf8.Valid(body) {
			err = answer.ErrUTF8
		}
		return got, err
	}
	return got, a.body(response, &got, spoke)
}

// acceptID keeps what bears the session's id.
func (a httpAttempt) acceptID(response *http.Response, got *httpAnswer) {
	if by := a.config.givenBy(); by != nil {
		got.Header, got.Cookie = by.borne(response)
	}
}

// body reads the answer of a turn.
func (a httpAttempt) body(response *http.Response, got *httpAnswer, spoke func()) (err error) {
	format := a.config.formatOf(got.Type)
	if format != "" && response.StatusCode != http.StatusNoContent {
		got.Streamed = true
		got.Events, err = a.config.answer.Events(response.Body, format, a.bounds.MaxBytes, spoke)
		return err
	}
	body, err := answer.ReadAll(response.Body, a.bounds.MaxBytes)
	if err == nil && !utf8.Valid(body) {
		err = answer.ErrUTF8
	}
	got.Body = string(body)
	return err
}

// formatOf returns the format in which an answer of a type is read as a stream; empty for one that is read whole.
func (c HTTPConfig) formatOf(contentType string) answer.Format {
	format := answer.FormatOf(contentType)
	if format != "" || c.answer.Stream == nil || strings.HasPrefix(contentType, "application/json") ||
		strings.HasPrefix(contentType, "text/html") {
		return format
	}
	return cmp.Or(c.answer.Stream.Format, answer.SSE)
}

// request makes the request with the headers that every one has.
func (a httpAttempt) request(ctx context.Context) (*http.Request, error) {
	var body io.Reader
	if a.call.body != "" {
		body = strings.NewReader(a.call.body)
	}
	request, err := http.NewRequestWithContext(ctx, a.call.method, a.call.url, body)
	if err != nil {
		return nil, err
	}
	accept := "application/json, text/plain;q=0.9, */*;q=0.8"
	if stream := a.config.answer.Stream; stream != nil && a.turn {
		switch stream.Format {
		case answer.JSONL:
			accept = "application/x-ndjson, application/json;q=0.9, */*;q=0.8"
		default:
			accept = "text/event-stream, application/json;q=0.9, */*;q=0.8"
		}
	}
	if host := a.call.on(request.Header, [2]string{"Accept", accept}, [2]string{"Content-Type", a.call.media},
		[2]string{trace.ConversationHeader, a.values.ConversationID}, [2]string{
			trace.ParentHeader, trace.Parent(ctx),
		}); host != "" {
		request.Host = host
	}
	httpclient.Once(request)
	return request, nil
}

// maxReason is how much is read of an answer that is no success.
const maxReason = 64 << 10

// refused is the fault of an answer outside 2xx.
func (a httpAttempt) refused(response *http.Response) *httpFault {
	f := &httpFault{fault: llm.Refused, status: response.StatusCode}
	switch {
	case response.StatusCode == http.StatusTooManyRequests:
		f.fault, f.again = llm.RateLimited, true
	case untaken(response.StatusCode):
		f.fault, f.again = llm.Unavailable, true
	case response.StatusCode == http.StatusGatewayTimeout:
		f.fault, f.again = llm.TimedOut, a.bounds.Idempotent
	}
	f.after = retry.After(response.Header, time.Now())
	// the status says enough without a reason that breaks off
	reason, _ := io.ReadAll(io.LimitReader(response.Body, maxReason))
	f.message = " " + refusal(response, reason)
	return f
}
