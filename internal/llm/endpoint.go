package llm

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"

	"rehearse/internal/config"
	"rehearse/internal/outbound"
)

const (
	publicBaseURL = "https://api.openai.com/v1"
	ollamaBaseURL = "http://localhost:11434/v1"
	baseURLEnv    = "OPENAI_BASE_URL"
	keyEnv        = "OPENAI_API_KEY"
)

// endpoint is one OpenAI-compatible address with its key. Bodies go through it as bytes.
type endpoint struct {
	client *http.Client
	model  config.Model
	base   *url.URL
	// at is base without user info and query; public says that it is OpenAI's own address.
	at     string
	public bool
	// key may be empty; keyName is the variable that it comes from.
	key, keyName string
	secrets      secrets
}

func newEndpoint(m config.Model, o Options) (*endpoint, error) {
	e := &endpoint{model: m, keyName: m.APIKeyEnv}
	if m.Provider != "ollama" { // a local server, to which OpenAI's key does not belong
		e.keyName = orElse(e.keyName, keyEnv)
	}
	address, err := url.Parse(strings.TrimSpace(baseOf(m, o)))
	if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" {
		// The address itself may hold a password, so the message doesn't repeat it.
		return nil, &Error{
			Fault: Refused, Model: m.String(), Message: "the base URL is not an http or https address",
			Hint: "write it like " + publicBaseURL + " in " + baseURLEnv + " or base_url",
		}
	}
	e.base, e.at, e.public = address, shownAddress(address), isPublic(address)
	if e.keyName != "" {
		e.key = strings.TrimSpace(o.env(e.keyName))
	}
	if e.key == "" && e.public {
		return nil, &Error{
			Fault: Unauthorized, Model: m.String(), At: e.at, Message: "no API key",
			Hint: "set " + e.keyName + ", or " + baseURLEnv + " for another endpoint",
		}
	}
	e.secrets = newSecrets(e.key, address)
	e.secrets.mask = o.Mask
	transport := o.Transport
	if transport == nil {
		transport = outbound.Transport()
	}
	e.client = outbound.Client(transport)
	return e, nil
}

// shownAddress writes an address without user info, query and fragment, where credentials may stand.
func shownAddress(address *url.URL) string {
	shown := *address
	shown.User, shown.RawQuery, shown.ForceQuery, shown.Fragment, shown.RawFragment = nil, "", false, "", ""
	return shown.String()
}

// call is one request to an endpoint, a JSON body for a path below the base URL.
type call struct {
	path string
	body []byte
	// node names the part of an agent that asks; it may be empty.
	node string
	// streamed asks for the answer as server-sent events.
	streamed bool
}

// post sends one request and returns the body of a successful answer. The error is an *Error or the context's.
func (e *endpoint) post(ctx context.Context, c call) ([]byte, error) {
	res, err := e.open(ctx, c)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	return e.read(ctx, res)
}

// open sends one request and returns a successful answer. The caller reads its body, which is bounded, and closes it.
// The error is an *Error or the context's.
func (e *endpoint) open(ctx context.Context, c call) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.base.JoinPath(c.path).String(), bytes.NewReader(c.body))
	if err != nil {
		return nil, e.unreachable(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if c.streamed {
		req.Header.Set("Accept", "text/event-stream")
	}
	req.Header.Set("User-Agent", "rehearse")
	if e.key != "" {
		req.Header.Set("Authorization", "Bearer "+e.key)
	}
	if c.node != "" {
		req.Header.Set(NodeHeader, url.PathEscape(c.node))
	}
	res, err := e.client.Do(req)
	if err != nil {
		return nil, e.broken(ctx, err)
	}
	if res.StatusCode >= http.StatusMultipleChoices {
		defer func() { _ = res.Body.Close() }()
		reason, err := io.ReadAll(io.LimitReader(res.Body, maxReason))
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil { // the status says enough without a reason that breaks off
			reason = nil
		}
		return nil, e.refusal(res, reason)
	}
	res.Body = &boundedBody{ReadCloser: res.Body, left: maxBody}
	return res, nil
}

func orElse(choices ...string) string {
	for _, c := range choices {
		if c != "" {
			return c
		}
	}
	return ""
}
