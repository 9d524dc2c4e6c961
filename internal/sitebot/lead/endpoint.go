package lead

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

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
	return &endpoint{kind: kind, url: u, busy: make(chan struct{}, slotsMost), client: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
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
		return &refusal{res.StatusCode, retry.After(res.Header, time.Now())}
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
