package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/rehearse-dev/rehearse/internal/base/httpclient"
	"github.com/rehearse-dev/rehearse/internal/base/retry"
	"github.com/rehearse-dev/rehearse/internal/base/template"
	"github.com/rehearse-dev/rehearse/internal/base/trace"
	"github.com/rehearse-dev/rehearse/internal/eval/target/answer"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// handshake says how a WebSocket is opened.
type handshake struct {
	client       *http.Client
	url          *template.Template
	headers      headers
	subprotocols []string
	// session is where the agent gives its id of the conversation; nil where it gives none.
	session    *agentSession
	withoutJar bool
	breaker    *llm.Breaker
	Bounds
}

// open opens the WebSocket of a conversation. It tries again where the other side cannot have taken it.
func (h *handshake) open(ctx context.Context, now func() *template.Values) (wire, error) {
	address, _, err := h.url.Text(now(), template.Address)
	if err != nil {
		return nil, err
	}
	if err := h.breaker.Begin(); err != nil {
		return nil, fmt.Errorf("it %w", err)
	}
	client := h.client
	if !h.withoutJar {
		jar, err := cookiejar.New(nil)
		if err != nil {
			return nil, err
		}
		client = httpclient.WithCookies(h.client, jar)
	}
	policy := retry.Policy{Retries: *h.Retries, MaxAfter: h.RetryAfterMax, Transient: passing, After: retryAfter}
	s, _, err := retry.Do(ctx, policy, func(ctx context.Context) (opened *socket, err error) {
		v := now()
		ctx, span := sending(trace.Of(ctx, v.ConversationID), "websocket", address)
		defer func() { sent(span, err) }()
		filled, err := h.headers.filled(v)
		if err != nil {
			return nil, err
		}
		o := websocket.DialOptions{HTTPClient: client, HTTPHeader: http.Header{}, Subprotocols: h.subprotocols}
		o.Host = filled.on(o.HTTPHeader, [2]string{trace.ConversationHeader, headerSafe(v.ConversationID)}, [2]string{
			trace.ParentHeader, trace.Parent(ctx),
		})
		var reached atomic.Bool // a connection may be made while nobody waits for it any more
		traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
			reached.Store(true)
		}})
		s, answered, err := dial(traced, address, &o, h.MaxBytes) //nolint:bodyclose // the answer to a handshake has none
		if err != nil {
			return nil, refused(ctx, answered, reached.Load(), err)
		}
		if h.session != nil {
			header, cookie := h.session.borne(answered)
			s.session = cmp.Or(header, cookie)
		}
		return s, nil
	})
	h.breaker.End(errors.Is(err, errUnreachable), ctx.Err() != nil)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// errUnreachable is an agent to which there is no connection.
var errUnreachable = errors.New("it cannot be reached")

// statusError is an answer with a status that is no success.
type statusError struct {
	status int
	says   string
	after  time.Duration
}

func (e *statusError) Error() string { return e.says }

// Unwrap makes a 504 a time-out.
func (e *statusError) Unwrap() error {
	if e.status == http.StatusGatewayTimeout {
		return context.DeadlineExceeded
	}
	return nil
}

// errHungUp is an agent that did not answer a handshake to its end.
var errHungUp = errors.New("the handshake broke off")

// refused says why a handshake failed. Answered is nil where nothing was answered, and reached is false where there was
// no connection.
func refused(ctx context.Context, answered *http.Response, reached bool, err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err // without the address, whose query may be secret
	}
	if answered == nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if private, ok := errors.AsType[*httpclient.PrivateError](err); ok {
			return private
		}
		if reached {
			return fmt.Errorf("%w: %s", errHungUp, shown(err.Error()))
		}
		return fmt.Errorf("%w: %s", errUnreachable, shown(err.Error()))
	}
	if answered.StatusCode == http.StatusSwitchingProtocols {
		return fmt.Errorf("the WebSocket's handshake failed: %s", shown(err.Error()))
	}
	body, _ := io.ReadAll(answered.Body) // the first kilobyte, which has come
	if answered.StatusCode/100 != 2 {
		return &statusError{answered.StatusCode, refusal(answered, body), retry.After(answered.Header, time.Now())}
	}
	if err := answer.Page(body, answered.Header.Get("Content-Type")); err != nil {
		return fmt.Errorf("answered %s: %w", answered.Status, err)
	}
	return fmt.Errorf("answered %s, which opens no WebSocket", answered.Status)
}

// passing reports whether a handshake that failed cannot have been taken, and may be at another attempt. No message was
// said before it.
func passing(err error) bool {
	if answered, ok := errors.AsType[*statusError](err); ok {
		return untaken(answered.status)
	}
	return errors.Is(err, errUnreachable) || errors.Is(err, errHungUp)
}

// greeting is what is said and awaited before the first turn.
type greeting struct {
	body *template.Template
	wait *answer.Pick
}

// greet sends the first message and waits for the one that says that the agent is ready.
func (s *spokenSession) greet(ctx context.Context, g *greeting) ([]event, error) {
	if g.body != nil {
		message, err := rendered(g.body, s.now)
		if err != nil {
			return nil, err
		}
		if err := s.wire.send(ctx, message); err != nil {
			return nil, err
		}
	}
	started := time.Now()
	var events []event
	r := s.answer.Read(0)
	for size := 0; g.wait != nil; {
		e, err := s.hear(ctx, started, &size, len(events))
		if err != nil {
			return nil, err
		}
		events = append(events, e)
		if _, err := r.Add("", []byte(e.Data)); err != nil {
			return nil, err
		}
		if g.wait.Finds([]byte(e.Data)) {
			break
		}
	}
	return events, nil
}

// rendered returns what is sent: a text as it is, anything else as JSON.
func rendered(t *template.Template, v *template.Values) ([]byte, error) {
	if t.IsText() {
		said, _, err := t.Text(v, template.Plain)
		return []byte(said), err
	}
	data, _, err := t.JSON(v)
	return data, err
}
