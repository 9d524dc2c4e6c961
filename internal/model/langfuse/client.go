package langfuse

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/httpclient"
	"github.com/rehearse-dev/rehearse/internal/base/retry"
)

// Client is a client of one Langfuse project. It is safe for concurrent use. When the server refuses a request or does
// not answer, the error is an *Error. When the context ends first, a method returns at once, with an error that wraps
// the context's.
type Client struct {
	// where begins every error.
	where, base, auth string
	environment       string
	secrets           secrets
	http              *http.Client
	timeout           time.Duration
	maxAnswer         int64
	policy            retry.Policy
}

// New returns a Client; nothing is sent yet.
func New(c Config) (*Client, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	pair := base64.StdEncoding.EncodeToString([]byte(c.PublicKey + ":" + c.SecretKey))
	return &Client{
		where: c.String(), base: strings.TrimRight(cmp.Or(c.Host, CloudHost), "/"), auth: "Basic " + pair,
		environment: c.Environment, secrets: newSecrets(c.PublicKey, c.SecretKey, pair),
		http: httpclient.Client(c.Transport), timeout: cmp.Or(c.Timeout, defaultTimeout),
		maxAnswer: int64(cmp.Or(c.MaxAnswer, defaultMaxAnswer)), policy: newPolicy(cmp.Or(c.Attempts, defaultAttempts)),
	}, nil
}

// String returns the host.
func (c *Client) String() string { return c.where }

// GoString returns the host.
func (c *Client) GoString() string { return c.where }

// answer is the decoded form of a successful answer. lacks names a required value that is missing; "" for none.
type answer interface{ lacks() string }

// once sends a request once.
func (c *Client) once(ctx context.Context, r request, into answer) error {
	limited, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	req, err := c.build(limited, r)
	if err != nil {
		return err
	}
	res, err := c.http.Do(req)
	if err != nil {
		return c.unreached(r, err, limited.Err() != nil)
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(res.Body, c.maxAnswer+1))
	switch {
	case int64(len(data)) > c.maxAnswer:
		return c.tooLarge(r, res.StatusCode)
	case res.StatusCode/100 != 2:
		return c.refusal(r, res, data)
	case into == nil:
		return nil // the status is the answer
	case err != nil:
		return c.broken(r, err, limited.Err() != nil)
	}
	return c.decode(r, res.Header, data, into)
}

func (c *Client) decode(r request, header http.Header, data []byte, into answer) error {
	if spans, ok := into.(*delivery); ok && strings.HasPrefix(header.Get("Content-Type"), "application/x-protobuf") {
		if spans.UnmarshalBinary(data) != nil {
			return c.malformed(r, "the answer is not protobuf, which its Content-Type names")
		}
		return nil
	}
	err := json.Unmarshal(data, into)
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong):
		return c.malformed(r, "in the answer "+clip(c.secrets.scrub(cmp.Or(wrong.Field, "the whole")), 100)+
			" is of a type that Langfuse does not document")
	case err != nil && incomplete(data):
		return c.broken(r, io.ErrUnexpectedEOF, false)
	case err != nil && json.Valid(data):
		return c.malformed(r, "the answer holds something that cannot be read: "+
			clip(c.secrets.scrub(err.Error()), maxMessage))
	case err != nil:
		return c.malformed(r, "the answer is not JSON: is "+HostEnv+" the address of a Langfuse?")
	}
	if missing := into.lacks(); missing != "" {
		return c.malformed(r, "the answer lacks "+missing)
	}
	return nil
}

// incomplete reports whether data ends in the middle of its JSON.
func incomplete(data []byte) bool {
	err := json.NewDecoder(bytes.NewReader(data)).Decode(new(json.RawMessage))
	return errors.Is(err, io.ErrUnexpectedEOF)
}

// Health is Langfuse's state as it reports it.
type Health struct {
	// Version is the server's, such as 3.150.0.
	Version string `json:"version"`
	Status  string `json:"status"`
}

func (h *Health) lacks() string { return lacking("version", h.Version) }

// Health asks whether Langfuse runs and reaches its database. It does not check the keys. An unhealthy answer is an
// error at once; only a failure to connect is retried.
func (c *Client) Health(ctx context.Context) (Health, error) {
	var h Health
	err := c.do(ctx, request{what: "ask for its health", method: http.MethodGet, path: []string{"health"}}, &h)
	return h, err
}
