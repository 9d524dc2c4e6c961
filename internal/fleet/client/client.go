// Package client speaks to a server's API of runs from outside.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/httpclient"
	"github.com/rehearse-dev/rehearse/internal/base/retry"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// Config says which server is spoken to.
type Config struct {
	// URL is the server's base URL.
	URL string
	// Token is sent with every request where there is one. TokenEnv names the variable that it is from, for errors.
	Token, TokenEnv string
	// Note gets a sentence when a connection is lost; nil discards it.
	Note func(text string)
}

// Client speaks to one server. It is safe for concurrent use. Close it.
type Client struct {
	Config
	http   *http.Client
	hangUp func()
}

// New returns a client. It sends nothing yet.
func New(c Config) (*Client, error) {
	at, err := url.Parse(c.URL)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" || at.RawQuery != "" ||
		at.Fragment != "" {
		return nil, source.Invalid("--server %s is no address of a server: write it as http://HOST:PORT",
			text.Address(c.URL))
	}
	if at.User != nil {
		return nil, source.Invalid("--server: the address holds a user: put a token into %s", c.TokenEnv)
	}
	c.URL = strings.TrimSuffix(c.URL, "/")
	if c.Note == nil {
		c.Note = func(string) {}
	}
	transport := httpclient.Transport()
	return &Client{Config: c, http: httpclient.Client(transport), hangUp: transport.CloseIdleConnections}, nil
}

// Close closes the connections.
func (c *Client) Close() { c.hangUp() }

// RefusedError is a request that the server has refused.
type RefusedError struct {
	Status int    `json:"status"`
	Code   string `json:"code"`
	Title  string `json:"title"`
	Detail string `json:"detail"`
	Hint   string `json:"hint"`
	// Errors are the faults of an invalid spec, Missing the hashes of files that the server lacks.
	Errors  source.Problems `json:"errors"`
	Missing []string        `json:"missing"`

	tokenEnv string
	after    time.Duration
}

// Error says what the server said, and which variable has the token that it did not take.
func (e *RefusedError) Error() string {
	said := e.Detail
	if said == "" {
		said = e.Title
	}
	if said == "" {
		said = "it says no more"
	}
	s := fmt.Sprintf("the server refused it (%d %s): %s", e.Status, e.Code, text.OneLine(said, maxSaid))
	if e.Code == "" {
		s = fmt.Sprintf("the server refused it (%d): %s", e.Status, text.OneLine(said, maxSaid))
	}
	if e.Status == http.StatusUnauthorized {
		return s + ": put a token of the server into the environment variable " + e.tokenEnv
	}
	if e.Hint != "" {
		s += " (" + text.OneLine(e.Hint, maxSaid) + ")"
	}
	return s
}

// Invalid reports whether the suites themselves are at fault.
func (e *RefusedError) Invalid() bool { return e.Code == "invalid_spec" }

const (
	// maxSaid bounds what is repeated of a server's words, in runes; maxProblem bounds a problem document, maxBody
	// another answer that is kept in memory, in bytes.
	maxSaid    = 1000
	maxProblem = 8 << 20
	maxBody    = 256 << 20
	// tries is how often a request is sent again before the server is given up.
	tries = 4
)

// call is a request that may be sent several times.
type call struct {
	method, path string
	accept       string
	body         []byte
	header       map[string]string
}

// send sends a request once. The caller closes the body of the answer, whose status is one of success.
func (c *Client) send(ctx context.Context, r call) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, r.method, c.URL+r.path, bytes.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	if r.body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if r.accept != "" {
		request.Header.Set("Accept", r.accept)
	}
	for name, value := range r.header {
		request.Header.Set(name, value)
	}
	if c.Token != "" {
		request.Header.Set("Authorization", "Bearer "+c.Token)
	}
	answer, err := c.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask the server: %w", err)
	}
	if answer.StatusCode/100 == 2 {
		return answer, nil
	}
	defer func() { _ = answer.Body.Close() }() // it was only read
	if to := httpclient.Redirect(answer); to != "" {
		return nil, &RefusedError{Status: answer.StatusCode, Detail: to + ": name that address with --server"}
	}
	refused := &RefusedError{}
	if data, err := io.ReadAll(io.LimitReader(answer.Body, maxProblem)); err != nil ||
		json.Unmarshal(data, refused) != nil {
		refused = &RefusedError{Detail: "its answer is no problem document: is it a rehearse server?"}
	}
	refused.Status, refused.tokenEnv, refused.after = answer.StatusCode, c.TokenEnv,
		retry.After(answer.Header, time.Now())
	return nil, refused
}

// transient reports whether a request may succeed when it is sent again.
func transient(err error) bool {
	refused, ok := errors.AsType[*RefusedError](err)
	if !ok {
		return true
	}
	switch refused.Status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

func retryAfter(err error) time.Duration {
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		return refused.after
	}
	return 0
}

// patient is the policy of requests about a run that is under way: its server comes back.
func (c *Client) patient() retry.Policy {
	return retry.Policy{Retries: retry.Unlimited, Transient: transient, After: retryAfter}
}

// firm is the policy of requests to a server that may not be there.
func firm() retry.Policy {
	return retry.Policy{Retries: tries, Transient: transient, After: retryAfter}
}

// Get returns the body of an answer to a GET.
func (c *Client) Get(ctx context.Context, path string) ([]byte, error) {
	return c.ask(ctx, firm(), call{method: http.MethodGet, path: path, accept: "application/json"})
}

// ask sends a request, again while that may help, and returns the body of its answer.
func (c *Client) ask(ctx context.Context, p retry.Policy, r call) ([]byte, error) {
	body, _, err := retry.Do(ctx, p, func(ctx context.Context) ([]byte, error) {
		answer, err := c.send(ctx, r)
		if err != nil {
			return nil, err
		}
		defer func() { _ = answer.Body.Close() }() // it was only read
		body, err := io.ReadAll(io.LimitReader(answer.Body, maxBody+1))
		if err == nil && len(body) > maxBody {
			err = &RefusedError{Status: answer.StatusCode, Detail: "its answer is too large"}
		}
		return body, err
	})
	return body, err
}
