// Package apicall carries out what flows call over HTTP: to hosts that are allowed, once, without following a redirect.
package apicall

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/httpclient"
)

// maxAnswer bounds an answer, in bytes.
const maxAnswer = 64 << 10

// Config says who may be called. The zero value calls nobody.
type Config struct {
	// Hosts are HOST or HOST:PORT, each exact or *.DOMAIN.
	Hosts []string
	// Private allows addresses that are not public.
	Private bool
	// Secret returns the value of a variable for a header, and keeps it out of what is written; empty means that it is
	// not set.
	Secret func(name string) string
	// Wrap wraps the transport, such as in a recording; nil wraps nothing.
	Wrap func(http.RoundTripper) http.RoundTripper
}

// Caller is safe for concurrent use. Make it with New.
type Caller struct {
	Config
	client *http.Client
}

var _ flow.Caller = (*Caller)(nil)

// New returns a Caller.
func New(c Config) *Caller {
	var transport http.RoundTripper = httpclient.Checked()
	if c.Private {
		transport = httpclient.Single()
	}
	if c.Wrap != nil {
		transport = c.Wrap(transport)
	}
	return &Caller{c, httpclient.Client(transport)}
}

// Call sends a request and returns its answer.
func (c *Caller) Call(ctx context.Context, r flow.Request) (json.RawMessage, error) {
	u, err := url.Parse(r.URL)
	if err != nil || u.Hostname() == "" {
		return nil, errors.New("the address is none")
	}
	if err := c.allowed(u); err != nil {
		return nil, err
	}
	var body io.Reader
	if r.Method != http.MethodGet {
		body = bytes.NewReader(r.Body)
	}
	request, err := http.NewRequestWithContext(ctx, r.Method, u.String(), body)
	if err != nil {
		return nil, errors.New("the address is none")
	}
	request.Header.Set("Accept", "application/json")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	for name, value := range r.Headers {
		if value, err = c.filled(value); err != nil {
			return nil, err
		}
		request.Header.Set(name, value)
	}
	answer, err := c.client.Do(request)
	if err != nil {
		return nil, c.unreached(ctx, r, u, err)
	}
	defer func() { _ = answer.Body.Close() }() // it is read to its end, or given up
	return read(ctx, r, u, answer)
}

// read returns the answer to a request when it is JSON.
func read(ctx context.Context, r flow.Request, u *url.URL, answer *http.Response) (json.RawMessage, error) {
	switch {
	case answer.StatusCode >= 300 && answer.StatusCode < 400:
		return nil, fmt.Errorf("%s answered %d, and redirects are not followed", u.Hostname(), answer.StatusCode)
	case answer.StatusCode < 200 || answer.StatusCode > 299:
		return nil, fmt.Errorf("%s answered %d", u.Hostname(), answer.StatusCode)
	}
	data, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	switch {
	case ctx.Err() != nil:
		return nil, cutOff(ctx, r, u)
	case err != nil:
		return nil, fmt.Errorf("the answer of %s broke off", u.Hostname())
	case len(data) > maxAnswer:
		return nil, fmt.Errorf("the answer of %s is larger than %d KB", u.Hostname(), maxAnswer>>10)
	case !json.Valid(data):
		return nil, fmt.Errorf("the answer of %s is no JSON", u.Hostname())
	}
	return bytes.TrimSpace(data), nil
}

// cutOff says which limit ended a call: its own, or that of the turn, which may leave it less.
func cutOff(ctx context.Context, r flow.Request, u *url.URL) error {
	if errors.Is(context.Cause(ctx), flow.ErrCallLimit) {
		return fmt.Errorf("%s did not answer within %s", u.Hostname(), r.Timeout)
	}
	return fmt.Errorf("%s had not answered when the turn ended", u.Hostname())
}

// unreached says why no answer came, without addresses of the network.
func (c *Caller) unreached(ctx context.Context, r flow.Request, u *url.URL, err error) error {
	var dns *net.DNSError
	switch closed, ok := errors.AsType[*httpclient.NotPublicError](err); {
	case ok:
		return fmt.Errorf("host not allowed: %w", closed)
	case ctx.Err() != nil:
		return cutOff(ctx, r, u)
	case errors.As(err, &dns):
		return fmt.Errorf("%s is not found", u.Hostname())
	}
	return fmt.Errorf("%s cannot be reached", u.Hostname())
}

// filled puts variables of the environment into a header.
func (c *Caller) filled(value string) (string, error) {
	var fault error
	filled := flow.EnvName().ReplaceAllStringFunc(value, func(found string) string {
		name := found[2 : len(found)-1]
		set := ""
		if c.Secret != nil {
			set = c.Secret(name)
		}
		switch {
		case set == "":
			fault = fmt.Errorf("the environment variable %s is not set", name)
		case strings.ContainsAny(set, "\r\n\x00"):
			fault = fmt.Errorf("the environment variable %s does not fit into a header", name)
		}
		return set
	})
	return filled, fault
}

// allowed checks the host of an address.
func (c *Caller) allowed(u *url.URL) error {
	port, otherPort := portOf(u), false
	for _, pattern := range c.Hosts {
		switch host, onlyPort := config.HostOf(pattern); {
		case !config.HostMatches(host, u.Hostname()):
		case onlyPort == "" || onlyPort == port:
			return nil
		default:
			otherPort = true
		}
	}
	if otherPort {
		return fmt.Errorf("host not allowed: %s:%s", u.Hostname(), port)
	}
	return fmt.Errorf("host not allowed: %s", u.Hostname())
}

func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}
