package llm

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"rehearse/internal/config"
)

const (
	publicBaseURL = "https://api.openai.com/v1"
	ollamaBaseURL = "http://localhost:11434/v1"
	baseURLEnv    = "OPENAI_BASE_URL"
	keyEnv        = "OPENAI_API_KEY"
)

// endpoint is one OpenAI-compatible address with its key.
//
// The SDK joins the URL, authenticates, guards the origin and sends; bodies go through it as bytes,
// because its typed encoding and decoding cost more than the rest of a call together (see BenchmarkGenerate).
type endpoint struct {
	client openai.Client
	model  config.Model
	// at is the address without credentials; public says that it is OpenAI's own.
	at      string
	public  bool
	keyName string
	secrets secrets
}

func newEndpoint(m config.Model, o Options) (*endpoint, error) {
	e := &endpoint{model: m, keyName: m.APIKeyEnv}
	base := m.BaseURL
	if m.Provider == "ollama" { // a local server: neither OpenAI's address nor its key belong there
		base = orElse(base, ollamaBaseURL)
	} else {
		base = orElse(base, o.env(baseURLEnv), publicBaseURL)
		e.keyName = orElse(e.keyName, keyEnv)
	}
	address, err := url.Parse(strings.TrimSpace(base))
	if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" {
		// The address itself may hold a password, so the message doesn't repeat it.
		return nil, &Error{
			Fault: Refused, Model: m.String(), Message: "the base URL is not an http or https address",
			Hint: "write it like " + publicBaseURL + " in " + baseURLEnv + " or base_url",
		}
	}
	shown := *address
	shown.RawQuery, shown.Fragment = "", ""
	e.at, e.public = shown.Redacted(), address.Hostname() == "api.openai.com"
	key := ""
	if e.keyName != "" {
		key = strings.TrimSpace(o.env(e.keyName))
	}
	if key == "" && e.public {
		return nil, &Error{
			Fault: Unauthorized, Model: m.String(), At: e.at, Message: "no API key",
			Hint: "set " + e.keyName + ", or " + baseURLEnv + " for another endpoint",
		}
	}
	e.secrets = newSecrets(key, address)
	transport := o.Transport
	if transport == nil {
		transport = Transport()
	}
	// Not openai.NewClient: it would read the process's environment behind Options.Getenv.
	e.client = openai.Client{Options: []option.RequestOption{
		option.WithBaseURL(address.String()),
		option.WithHTTPClient(&http.Client{Transport: transport, CheckRedirect: noRedirect}),
		option.WithMaxRetries(0),
		option.WithMiddleware(bounded),
	}}
	if key != "" {
		e.client.Options = append(e.client.Options, option.WithAPIKey(key))
	}
	return e, nil
}

// post sends one request and returns the body of a good answer. The error is an *Error or the context's.
func (e *endpoint) post(ctx context.Context, path string, body []byte, how ...option.RequestOption) ([]byte, error) {
	res, err := e.open(ctx, path, body, how...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	return e.read(ctx, res)
}

// open sends one request and returns a good answer, of which the caller reads and closes the body.
func (e *endpoint) open(ctx context.Context, path string, body []byte, how ...option.RequestOption) (*http.Response, error) {
	var res *http.Response
	err := e.client.Post(ctx, path, body, &res, how...)
	switch {
	case res == nil:
		return nil, e.broken(ctx, err)
	case res.StatusCode >= http.StatusMultipleChoices:
		defer func() { _ = res.Body.Close() }()
		data, _ := readAll(res) // what there is of the reason is better than none
		return nil, e.refusal(res, data)
	}
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
