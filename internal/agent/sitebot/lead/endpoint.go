package lead

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/httpclient"
	"github.com/rehearse-dev/rehearse/internal/base/retry"
)

// maxAnswer is how much of an answer is read, in bytes, so that its connection can be used again.
const maxAnswer = 64 << 10

// endpoint is an address that takes JSON by POST.
type endpoint struct {
	// kind and host make its name; the rest of the address may be secret.
	kind   string
	url    *url.URL
	client *http.Client
}

// newEndpoint checks an address. Redirects are not followed: leads go where the configuration says, and nowhere else.
func newEndpoint(kind, address string, transport http.RoundTripper) (*endpoint, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%s: not an http address: write a whole one such as https://example.com/leads", kind)
	}
	return &endpoint{kind: kind, url: u, client: httpclient.Client(transport)}, nil
}

// String names the receiver by kind and host.
func (e *endpoint) String() string { return e.kind + " " + e.url.Scheme + "://" + e.url.Host }

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
	if res.StatusCode/100 != 2 {
		return &refusal{res.StatusCode, retry.After(res.Header, time.Now()), httpclient.Redirect(res)}
	}
	_, _ = io.CopyN(io.Discard, res.Body, maxAnswer) // the status says it all
	return nil
}

// bare drops the address that net/http puts before an error: its path may be secret.
func bare(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// refusal is an answer that is no success.
type refusal struct {
	status int
	// after is how long the receiver asks to wait; 0 if it does not say.
	after time.Duration
	// redirect says where the answer redirects to; empty if it does not.
	redirect string
}

// Error says what the receiver answered, and what to look at.
func (r *refusal) Error() string {
	text := "status " + strconv.Itoa(r.status)
	switch {
	case r.redirect != "":
		return text + ": " + r.redirect + "; use the address that it redirects to"
	case r.status/100 == 4 && r.status != http.StatusRequestTimeout && r.status != http.StatusTooManyRequests:
		return text + ": check the address, and the secret or key"
	}
	return text
}
