package llm

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/httpclient"
	"github.com/rehearse-dev/rehearse/internal/base/template"
	"github.com/rehearse-dev/rehearse/internal/base/trace"
)

// endpoint is one address with its key. Bodies go through it as bytes.
type endpoint struct {
	client *http.Client
	vendor *vendor
	model  config.Model
	base   *url.URL
	// at is base without user info and query; public says that it is the provider's own address.
	at     string
	public bool
	// key may be empty; keyName is the variable that it comes from. bearer sends it as a bearer token, not in the
	// provider's own header.
	key, keyName string
	bearer       bool
	secrets      secrets
	extras       extras
}

func newEndpoint(m config.Model, o Options) (*endpoint, error) {
	p, err := findProvider(m.Provider)
	if err != nil {
		return nil, err
	}
	if p.vendor == nil {
		return nil, &Error{Fault: Refused, Model: m.String(), Message: m.Provider + " is not asked over the network"}
	}
	e := &endpoint{vendor: p.vendor, model: m}
	base := strings.TrimSpace(e.vendor.baseOf(m, o))
	address, err := url.Parse(base)
	if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" {
		// The address itself may hold a password, so the message doesn't repeat it.
		message := "the base URL is not an http or https address"
		if base == "" {
			message = "no base URL"
		}
		return nil, &Error{
			Fault: Refused, Model: m.String(), Message: message,
			Hint: "write it like " + e.vendor.example() + " in " + e.vendor.baseEnv + " or base_url",
		}
	}
	e.base, e.at, e.public = address, shownAddress(address), e.vendor.isPublic(address)
	if m.TokenEnv != "" && !e.vendor.tokens {
		return nil, e.fail(&Error{
			Fault: Refused, Message: m.Provider + " takes no token", Hint: "name the variable of the key: api_key_env",
		})
	}
	e.key, e.keyName = e.vendor.keyOf(m, o)
	e.bearer = e.vendor.keyHeader == "" || m.TokenEnv != ""
	if e.key == "" && e.public && e.keyName != "" {
		return nil, &Error{
			Fault: Unauthorized, Model: m.String(), At: e.at, Message: "no API key",
			Hint: "set " + e.keyName + ", or " + e.vendor.baseEnv + " for another endpoint",
		}
	}
	e.secrets = newSecrets(e.key, address)
	e.secrets.mask = o.Mask
	if e.extras, err = newExtras(m); err != nil {
		return nil, e.fail(&Error{
			Fault: Refused, Message: clip(oneLine(err.Error())), Hint: "check `headers:` and `body:` of the model",
		})
	}
	transport := o.Transport
	if o.Named != nil && m.BaseURL != "" {
		transport = o.Named.Transport
	}
	if transport == nil {
		transport = httpclient.Transport()
	}
	e.client = httpclient.Client(transport)
	return e, nil
}

// shownAddress writes an address without user info, query and fragment, where credentials may stand.
func shownAddress(address *url.URL) string {
	shown := *address
	shown.User, shown.RawQuery, shown.ForceQuery, shown.Fragment, shown.RawFragment = nil, "", false, "", ""
	return shown.String()
}

// call is one request to an endpoint, a JSON body for a place below the base URL.
type call struct {
	requestPath
	// method is POST if empty.
	method string
	body   []byte
	// node names the part of an agent that asks; it may be empty.
	node string
	// streamed asks for the answer as server-sent events.
	streamed bool
	// bare is true of a request that is not for a reply: the configured body does not belong into it.
	bare bool
	// values is what placeholders stand for. conversation is the id of the target's conversation; empty where the model
	// is not the target.
	values       template.Values
	conversation string
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
	body, err := c.body, error(nil)
	if !c.bare {
		body, err = e.extras.merge(body, &c.values)
	}
	if err != nil {
		return nil, e.fail(&Error{Fault: Refused, Message: clip(oneLine(err.Error()))})
	}
	req, err := http.NewRequestWithContext(ctx, orElse(c.method, http.MethodPost), e.address(c.requestPath),
		bytes.NewReader(body))
	if err != nil {
		return nil, e.unreachable(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json")
	if c.streamed {
		req.Header.Set("Accept", "text/event-stream")
	}
	req.Header.Set("User-Agent", "rehearse")
	for name, value := range e.vendor.headers {
		req.Header.Set(name, value)
	}
	switch {
	case e.key == "":
	case e.bearer:
		req.Header.Set("Authorization", "Bearer "+e.key)
	default:
		req.Header.Set(e.vendor.keyHeader, e.key)
	}
	if c.node != "" {
		req.Header.Set(NodeHeader, url.PathEscape(c.node))
	}
	if c.conversation != "" {
		req.Header.Set(trace.ConversationHeader, c.conversation)
	}
	req.Header.Set(trace.ParentHeader, trace.Parent(ctx))
	if err := e.extras.setHeaders(req.Header, &c.values); err != nil {
		return nil, e.fail(&Error{Fault: Refused, Message: clip(oneLine(err.Error()))})
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

// address returns the address of a place. The base URL may have a query of its own.
func (e *endpoint) address(at requestPath) string {
	to := e.base.JoinPath(at.path)
	if at.query != "" {
		to.RawQuery = strings.TrimPrefix(to.RawQuery+"&"+at.query, "&")
	}
	return to.String()
}

func orElse(choices ...string) string {
	for _, c := range choices {
		if c != "" {
			return c
		}
	}
	return ""
}
