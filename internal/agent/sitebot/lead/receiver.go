package lead

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/httpclient"
)

// The names of the receivers, as rows have them.
const (
	WebhookName = "lead_webhook"
	PostHogName = "posthog"
)

// Receiver takes rows. Implementations are safe for concurrent use.
type Receiver interface {
	// Send tries once. Its error has no secret in it.
	Send(ctx context.Context, r Row) error
	// String names the receiver for the log.
	String() string
}

// The headers of the webhook.
const (
	// SignatureHeader proves that a request comes from here, is unchanged, and is recent. Its value is
	// "t=SECONDS,v1=SIGNATURE": the Unix time of the attempt, and, in hexadecimal, the HMAC-SHA256 under the secret of
	// SECONDS, a full stop, and the body as it was sent. A receiver computes the same, compares in constant time, and
	// refuses old times.
	SignatureHeader = "X-Rehearse-Signature"
	// IdempotencyHeader is the id of the row: the same for every attempt, so that a receiver can drop what it has.
	IdempotencyHeader = "Idempotency-Key"
)

// Webhook tells the site's owner. It is safe for concurrent use.
type Webhook struct {
	*endpoint
	secret string
}

// NewWebhook returns a webhook. The transport may be nil: see httpclient.Client.
func NewWebhook(url, secret string, transport http.RoundTripper) (*Webhook, error) {
	e, err := newEndpoint("lead webhook", url, transport)
	if err != nil {
		return nil, err
	}
	if secret == "" {
		return nil, errors.New("lead webhook: no secret: set the variable that secret_env names")
	}
	return &Webhook{e, secret}, nil
}

// Send implements Receiver.
func (w *Webhook) Send(ctx context.Context, r Row) error {
	return w.post(ctx, r.Body, http.Header{
		SignatureHeader:   {httpclient.Signature(w.secret, time.Now(), r.Body)},
		IdempotencyHeader: {r.ID},
	})
}

// PostHog tells PostHog, by its capture endpoint (posthog.com/docs/api/capture). It is safe for concurrent use.
type PostHog struct {
	*endpoint
	key string
}

// NewPostHog returns a PostHog at a host such as https://eu.i.posthog.com, with the key of the project. The transport
// may be nil: see httpclient.Client.
func NewPostHog(host, key string, transport http.RoundTripper) (*PostHog, error) {
	e, err := newEndpoint("posthog", strings.TrimSuffix(host, "/")+"/capture/", transport)
	if err != nil {
		return nil, err
	}
	if key == "" {
		return nil, errors.New("posthog: no key: set the variable that key_env names")
	}
	return &PostHog{e, key}, nil
}

// capture is the body of a request to the capture endpoint. Rows hold it without the key, which no store should have.
type capture struct {
	APIKey     string            `json:"api_key,omitempty"`
	Event      string            `json:"event"`
	DistinctID string            `json:"distinct_id"`
	Properties map[string]string `json:"properties"`
	Timestamp  time.Time         `json:"timestamp"`
	// UUID lets PostHog drop what it already has.
	UUID string `json:"uuid"`
}

// Send implements Receiver.
func (p *PostHog) Send(ctx context.Context, r Row) error {
	var told capture
	if err := json.Unmarshal(r.Body, &told); err != nil {
		return fmt.Errorf("the row is damaged: %w", err)
	}
	told.APIKey = p.key
	body, err := json.Marshal(told)
	if err != nil {
		return err
	}
	return p.post(ctx, body, nil)
}

// uuid writes 32 hexadecimal digits as a UUID of version 8, whose other bits may be anything (RFC 9562, 5.8).
func uuid(digits string) string {
	return digits[:8] + "-" + digits[8:12] + "-8" + digits[13:16] + "-a" + digits[17:20] + "-" + digits[20:]
}
