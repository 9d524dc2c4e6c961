package langfuse

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/retry"
)

// request is one call of the API.
type request struct {
	// what names the operation in errors.
	what   string
	method string
	// path has the segments below /api/public, unescaped.
	path   []string
	query  url.Values
	header http.Header
	body   []byte
	// retry is true when the request may be sent again although the server may have carried it out.
	retry bool
}

func (c *Client) build(ctx context.Context, r request) (*http.Request, error) {
	path, err := escape(r.path)
	if err != nil {
		return nil, c.invalid(r.what, "%s", err)
	}
	address := c.base + "/api/public" + path
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, address, bytes.NewReader(r.body))
	if err != nil {
		return nil, c.invalid(r.what, "the address cannot be asked: check %s", HostEnv)
	}
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	maps.Copy(req.Header, r.header)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "rehearse")
	req.Header.Set("Authorization", c.auth)
	return req, nil
}

// maxName bounds a name or ID in bytes, in requests and answers.
const maxName = 1000

// escape writes the segments of a path. Names of datasets and prompts may contain slashes and blanks. A segment of dots
// alone is an error: proxies would read it as a step through the path.
func escape(segments []string) (string, error) {
	var path strings.Builder
	for _, s := range segments {
		if s == "" || s == "." || s == ".." || len(s) > maxName {
			return "", errors.New("the name is empty, has only dots, or has more than 1000 bytes: give another one")
		}
		path.WriteString("/" + url.PathEscape(s))
	}
	return path.String(), nil
}

// maxAfter bounds the wait that the server may ask for before the next attempt. Langfuse counts requests by the minute.
const maxAfter = time.Minute

func newPolicy(attempts int) retry.Policy {
	return retry.Policy{
		Retries: attempts - 1, First: 500 * time.Millisecond,
		Transient: func(err error) bool { e, ok := errors.AsType[*Error](err); return ok && e.retry },
		After:     retryAfter, MaxAfter: maxAfter,
	}
}

func retryAfter(err error) time.Duration {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.RetryAfter
	}
	return 0
}

// do sends a request until it is answered or refused for good, or the attempts are used up.
func (c *Client) do(ctx context.Context, r request, into answer) error {
	_, attempts, err := retry.Do(ctx, c.policy, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, c.once(ctx, r, into)
	})
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%s: %s: %w", c.where, r.what, ctx.Err())
	}
	if e, ok := errors.AsType[*Error](err); ok {
		e.Attempts = attempts
	}
	return err
}
