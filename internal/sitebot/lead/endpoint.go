package lead

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"rehearse/internal/outbound"
	"rehearse/internal/retry"
)

const (
	// slotsMost is how many requests a receiver gets at once.
	slotsMost = 8
	// maxAnswer is how much of an answer is read, in bytes, so that its connection can be used again.
	maxAnswer = 64 << 10
)

// endpoint is an address that takes JSON by POST.
type endpoint struct {
	// kind and host make its name; the rest of the address may be secret.
	kind   string
	url    *url.URL
	busy   chan struct{}
	client *http.Client
}

// newEndpoint checks an address. Redirects are not followed: leads go where the configuration says, and nowhere else.
func newEndpoint(kind, address string, transport http.RoundTripper) (*endpoint, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%s: not an http address: write a whole one such as https://example.com/leads", kind)
	}
	return &endpoint{kind: kind, url: u, busy: make(chan struct{}, slotsMost), client: outbound.Client(transport)}, nil
}

func (e *endpoint) name() string { return e.kind + " " + e.url.Scheme + "://" + e.url.Host }

func (e *endpoint) slots() chan struct{} { return e.busy }

// post sends a body once.
func (e *endpoint) post(ctx context.Context, body []byte, header http.Header) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url.String(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	if header != nil {
		req.Header = header
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "rehearse")
	res, err := e.client.Do(req)
	if err != nil {
		return bare(err)
	}
	defer func() { _ = res.Body.Close() }()
	_, _ = io.CopyN(io.Discard, res.Body, maxAnswer) // the status says it all
	if res.StatusCode/100 != 2 {
		return &refusal{res.StatusCode, retry.After(res.Header, time.Now()), outbound.Redirect(res)}
	}
	return nil
}

// bare drops the address that net/http puts before an error: its path may be secret.
func bare(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// The headers of the webhook.
const (
	// SignatureHeader proves that a request comes from here, is unchanged, and is recent. Its value is "t=SECONDS,v1=SIGNATURE":
	// the Unix time of the attempt, and, in hexadecimal, the HMAC-SHA256 under the secret of SECONDS, a full stop, and the body as
	// it was sent. A receiver computes the same, compares in constant time, and refuses old times.
	SignatureHeader = "X-Rehearse-Signature"
	// IdempotencyHeader is the same for every attempt to deliver one capture, so that a receiver can drop what it has.
	IdempotencyHeader = "Idempotency-Key"
)

// Webhook tells the site's owner of leads: POST with a Capture as JSON. It is safe for concurrent use.
type Webhook struct {
	*endpoint
	secret []byte
	queue  *Queue
}

// NewWebhook returns a webhook that delivers through queue. The transport may be nil: see outbound.Client.
func NewWebhook(queue *Queue, url, secret string, transport http.RoundTripper) (*Webhook, error) {
	e, err := newEndpoint("lead webhook", url, transport)
	if err != nil {
		return nil, err
	}
	if secret == "" {
		return nil, errors.New("lead webhook: no secret: set the variable that secret_env names")
	}
	return &Webhook{e, []byte(secret), queue}, nil
}

// Send has a capture delivered, and returns at once. The same capture of a session is delivered once, however often it is sent.
// The error, ErrFull or ErrClosed, means that it will not be delivered.
func (w *Webhook) Send(c Capture) error {
	body, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return w.queue.put(w, message{c.Site, c.Session, c.key("webhook"), body})
}

func (w *Webhook) send(ctx context.Context, m message) error {
	return w.post(ctx, m.body, http.Header{
		SignatureHeader:   {w.sign(time.Now(), m.body)},
		IdempotencyHeader: {m.key},
	})
}

func (w *Webhook) sign(now time.Time, body []byte) string {
	seconds := strconv.FormatInt(now.Unix(), 10)
	mac := hmac.New(sha256.New, w.secret)
	mac.Write([]byte(seconds + "."))
	mac.Write(body)
	return "t=" + seconds + ",v1=" + hex.EncodeToString(mac.Sum(nil))
}

// EmailCaptured is the event of an e-mail address that was captured.
const EmailCaptured = "rw_email_captured"

// PostHog tells PostHog of leads, by its capture endpoint (posthog.com/docs/api/capture). It is safe for concurrent use.
type PostHog struct {
	*endpoint
	key   string
	queue *Queue
}

// NewPostHog returns a PostHog at a host such as https://eu.i.posthog.com, with the key of the project, that delivers through queue.
// The transport may be nil: see outbound.Client.
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
