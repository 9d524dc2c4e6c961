package lead

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"
)

// EmailCaptured is the event of an e-mail address that was captured.
const EmailCaptured = "rw_email_captured"

// PostHog tells PostHog of leads, by its capture endpoint (posthog.com/docs/api/capture). It is safe for concurrent use.
type PostHog struct {
	*endpoint
	key   string
	queue *Queue
}

// NewPostHog returns a PostHog at a host such as https://eu.i.posthog.com, with the key of the project, that delivers through queue.
// The transport may be nil for http.DefaultTransport.
func NewPostHog(queue *Queue, host, key string, transport http.RoundTripper) (*PostHog, error) {
	e, err := newEndpoint("posthog", strings.TrimSuffix(host, "/")+"/capture/", transport)
	if err != nil {
		return nil, err
	}
	if key == "" {
		return nil, errors.New("posthog: no key: set the variable that key_env names")
	}
	return &PostHog{e, key, queue}, nil
}

// event is the body of a request to the capture endpoint.
type event struct {
	APIKey     string            `json:"api_key"`
	Event      string            `json:"event"`
	DistinctID string            `json:"distinct_id"`
	Properties map[string]string `json:"properties"`
	Timestamp  time.Time         `json:"timestamp"`
	// UUID lets PostHog drop what it already has.
	UUID string `json:"uuid"`
}

// EmailCaptured has the event EmailCaptured recorded, and returns at once. It says how and where the address was captured; the
// address itself stays here. The error, ErrFull or ErrClosed, means that it will not be recorded.
func (p *PostHog) EmailCaptured(c Capture) error {
	key := c.key("posthog")
	body, err := json.Marshal(event{ //nolint:gosec // PostHog takes its key in the body
		APIKey: p.key, Event: EmailCaptured, DistinctID: cmp.Or(c.Person, c.Session), Timestamp: c.At, UUID: uuid(key),
		Properties: map[string]string{"rw_capture_context": c.Context, "site_name": c.Site, "session_id": c.Session},
	})
	if err != nil {
		return err
	}
	return p.queue.put(p, message{c.Site, c.Session, key, body})
}

func (p *PostHog) send(ctx context.Context, m message) error { return p.post(ctx, m.body, nil) }

// uuid writes 32 hexadecimal digits as a UUID of version 8, whose other bits may be anything (RFC 9562, 5.8).
func uuid(digits string) string {
	return digits[:8] + "-" + digits[8:12] + "-8" + digits[13:16] + "-a" + digits[17:20] + "-" + digits[20:]
}
