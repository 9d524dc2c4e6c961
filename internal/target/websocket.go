package target

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"rehearse/internal/answer"
	"rehearse/internal/llm"
	"rehearse/internal/outbound"
	"rehearse/internal/retry"
	"rehearse/internal/template"
	"rehearse/internal/text"
)

// handshake says how a WebSocket is opened.
type handshake struct {
	client       *http.Client
	url          *template.Template
	headers      Headers
	subprotocols []string
	breaker      *llm.Breaker
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
	policy := retry.Policy{Retries: *h.Retries, MaxAfter: h.RetryAfterMax, Transient: passing, After: askedToWait}
	s, _, err := retry.Do(ctx, policy, func(ctx context.Context) (*socket, error) {
		header, err := h.headers.render(now())
		if err != nil {
			return nil, err
		}
		s, answered, err := dial(ctx, h.client, address, header, h.subprotocols, h.MaxBytes)
		if err != nil {
			return nil, refused(ctx, answered, err)
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

func (e *statusError) Error() string {
	return fmt.Sprintf("answered %d %s%s", e.status, http.StatusText(e.status), e.says)
}

// Unwrap makes a 504 a time-out.
func (e *statusError) Unwrap() error {
	if e.status == http.StatusGatewayTimeout {
		return context.DeadlineExceeded
	}
	return nil
}

// refused says why a handshake failed. answered is nil where nothing was answered.
func refused(ctx context.Context, answered *http.Response, err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err // without the address, whose query may be secret
	}
	if answered == nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("%w: %w", errUnreachable, err)
	}
	if answered.StatusCode == http.StatusSwitchingProtocols {
		return fmt.Errorf("the WebSocket's handshake failed: %w", err)
	}
	body, _ := io.ReadAll(answered.Body) // the first kilobyte, which has come
	if answered.StatusCode/100 != 2 {
		return statusOf(answered, body)
	}
	if err := answer.Page(body, answered.Header.Get("Content-Type")); err != nil {
		return fmt.Errorf("answered %s: %w", answered.Status, err)
	}
	return fmt.Errorf("answered %s, which opens no WebSocket", answered.Status)
}

// statusOf returns the error of an answer by its status, with the beginning of what its body says.
func statusOf(answered *http.Response, body []byte) error {
	if redirect := outbound.Redirect(answered); redirect != "" {
		return &statusError{status: answered.StatusCode, says: ": " + redirect + ", which is not followed"}
	}
	e := &statusError{status: answered.StatusCode, after: retry.After(answered.Header, time.Now())}
	if said := messageOf(body); said != "" {
		e.says = ": " + said
	}
	return e
}

// messageOf returns the message of an error's body, or its beginning.
func messageOf(body []byte) string {
	said := string(bytes.ToValidUTF8(body, []byte("\ufffd")))
	var members map[string]any
	if json.Unmarshal(body, &members) == nil {
		if inner, ok := members["error"].(map[string]any); ok {
			members = inner
		}
		for _, name := range []string{"message", "detail", "error", "title"} {
			if s, ok := members[name].(string); ok && s != "" {
				said = s
				break
			}
		}
	}
	return text.OneLine(said, 200)
}

// passing reports whether a request that failed cannot have been taken, and may be at another attempt.
func passing(err error) bool {
	if answered, ok := errors.AsType[*statusError](err); ok {
		switch answered.status {
		case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
			http.StatusServiceUnavailable:
			return true
		}
		return false
	}
	return errors.Is(err, errUnreachable)
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
	for size := 0; g.wait != nil; {
		e, err := s.hear(ctx, started, &size)
		if err != nil {
			return nil, err
		}
		events = append(events, e)
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
