package lead

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"
)

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

// NewWebhook returns a webhook that delivers through queue. The transport may be nil for http.DefaultTransport.
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
