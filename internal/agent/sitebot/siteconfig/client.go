package siteconfig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/rehearse-dev/rehearse/internal/base/httpclient"
)

// client reads one table over HTTP.
type client struct {
	// where begins every error.
	where, key string
	address    *url.URL
	header     http.Header
	transport  http.RoundTripper
}

// get returns the body of a successful answer. Redirects are not followed: the key would go along.
func (c *client) get(ctx context.Context, query url.Values) ([]byte, error) {
	u := *c.address
	u.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, c.errorf("the address cannot be asked: check it")
	}
	req.Header = c.header.Clone()
	res, err := httpclient.Client(c.transport).Do(req)
	if err != nil {
		return nil, c.unreached(err)
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxTotal+1))
	switch {
	case err != nil:
		return nil, c.unreached(err)
	case len(data) > maxTotal:
		return nil, c.errorf("an answer is larger than %d MB: keep long texts in prompts and in the knowledge base",
			maxTotal>>20)
	case res.StatusCode/100 != 2:
		return nil, c.errorf("status %d: %s", res.StatusCode, c.why(res, data))
	}
	return data, nil
}

// unreached tells that no answer came.
func (c *client) unreached(err error) error {
	for _, ended := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, ended) {
			return c.errorf("no answer in time: %w", ended)
		}
	}
	if u, ok := errors.AsType[*url.Error](err); ok { // whose own text repeats the whole address
		err = u.Err
	}
	return c.errorf("%s: check the address, and that the server runs", scrub(err.Error(), c.key))
}

// why says what to do about a refusal, or else what the service says about it.
func (c *client) why(res *http.Response, data []byte) string {
	redirect, status := httpclient.Redirect(res), res.StatusCode
	var said struct{ Message string }
	_ = json.Unmarshal(data, &said) // proxies answer with pages
	// Scrubbed before it is clipped, or half a key could stay at the end.
	text := clip(scrub(said.Message, c.key), 200)
	switch {
	case redirect != "":
		return redirect + "; write the address that it redirects to"
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return "check the key in " + KeyEnv + because(text)
	case status == http.StatusNotFound:
		return "check the address and the table's name, or create the table" + because(text)
	case text == "":
		return "try again later"
	}
	return text
}

func because(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

func (c *client) errorf(format string, args ...any) error {
	return fmt.Errorf("%s: "+format, append([]any{c.where}, args...)...)
}
