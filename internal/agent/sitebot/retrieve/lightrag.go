package retrieve

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/httpclient"
)

const (
	// defaultTimeout is how long the server may take. It asks a model for keywords unless the mode is naive.
	defaultTimeout = 5 * time.Second
	// maxAnswer bounds what is read of an answer, in bytes: the server's own limit of 30,000 tokens is far below.
	maxAnswer = 4 << 20
	// minQuery is the shortest query that the server takes.
	minQuery = 3
)

// Options say how a LightRAG server is asked.
type Options struct {
	// URL is where the server is, such as http://localhost:9621.
	URL string
	// Key is sent as X-API-Key; without one the header is left out.
	Key string
	// Mode is how the server searches: local, global, hybrid, naive or mix; hybrid without.
	Mode string
	// TopK is how many entities and relations the server looks at; its own default without.
	TopK int
	// Timeout is how long the server may take; 5 seconds without.
	Timeout time.Duration
	// Transport sends the requests; nil is that of httpclient.Client.
	Transport http.RoundTripper
}

// LightRAG looks things up in a LightRAG server (github.com/HKUDS/LightRAG, lightrag/api: POST /query). It is safe for
// concurrent use.
type LightRAG struct {
	url     string
	name    string
	options Options
	client  *http.Client
}

// modes are those of the server that search; its "bypass" does not.
func modes() []string { return []string{"local", "global", "hybrid", "naive", "mix"} }

// NewLightRAG returns a client. Redirects are not followed: the key would go along.
func NewLightRAG(o Options) (*LightRAG, error) {
	u, err := url.Parse(o.URL)
	o.Mode = cmp.Or(o.Mode, "hybrid")
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, errors.New("lightrag: the url is not an http address: write one such as http://localhost:9621")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("lightrag: the url has more than host and path: put the key where keys belong")
	case !slices.Contains(modes(), o.Mode):
		return nil, fmt.Errorf("lightrag: unknown mode %q: write one of %s", o.Mode, strings.Join(modes(), ", "))
	case o.TopK < 0 || o.Timeout < 0:
		return nil, errors.New("lightrag: top_k and timeout are not below 0")
	}
	return &LightRAG{
		url: u.JoinPath("query").String(), name: "lightrag " + u.Scheme + "://" + u.Host, options: o,
		client: httpclient.Client(o.Transport),
	}, nil
}

// Retrieve returns the context that the server finds for a message, up to MaxText; "" if it finds none, or the message
// is too short for it. It is not an answer: no model of the server's writes one.
func (l *LightRAG) Retrieve(ctx context.Context, query string) (string, error) {
	query = shorten(query)
	if len(query) < minQuery {
		return "", nil
	}
	limited, cancel := context.WithTimeout(ctx, l.options.Timeout)
	defer cancel()
	text, err := l.ask(limited, query)
	switch {
	case err == nil:
		return text, nil
	case ctx.Err() != nil:
		return "", fmt.Errorf("%s: %w", l.name, ctx.Err())
	case limited.Err() != nil:
		return "", fmt.Errorf("%s: no answer within %s", l.name, l.options.Timeout)
	}
	return "", fmt.Errorf("%s: %w", l.name, err)
}

// question is the body of a request, as far as we use it.
type question struct {
	Query           string `json:"query"`
	Mode            string `json:"mode"`
	OnlyNeedContext bool   `json:"only_need_context"`
	TopK            int    `json:"top_k,omitempty"`
}

func (l *LightRAG) ask(ctx context.Context, query string) (string, error) {
	body, err := json.Marshal(question{query, l.options.Mode, true, l.options.TopK})
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.url, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	if l.options.Key != "" {
		req.Header.Set("X-API-Key", l.options.Key)
	}
	res, err := l.client.Do(req)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok { // its text repeats the address
			err = u.Err
		}
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("the answer broke off: %w", err)
	case len(data) > maxAnswer:
		return "", errors.New("the answer is larger than 4 MB")
	case res.StatusCode != http.StatusOK:
		return "", refusal(res)
	}
	return found(data)
}

// refusal does not quote the server: it repeats what the visitor wrote.
func refusal(res *http.Response) error {
	redirect, status := httpclient.Redirect(res), res.StatusCode
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return fmt.Errorf("status %d: check the key", status)
	case status == http.StatusNotFound:
		return fmt.Errorf("status %d: check that the url is that of a LightRAG server, without /query", status)
	case status == http.StatusUnprocessableEntity:
		return fmt.Errorf("status %d: it does not take the query; check mode and top_k", status)
	case redirect != "":
		return fmt.Errorf("status %d: %s; use the address that it redirects to as the url", status, redirect)
	}
	return fmt.Errorf("status %d", status)
}
