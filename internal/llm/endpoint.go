package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
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
func (e *endpoint) post(ctx context.Context, path string, body []byte) ([]byte, error) {
	var res *http.Response
	err := e.client.Post(ctx, path, body, &res)
	if res == nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, e.unreachable(err)
	}
	defer func() { _ = res.Body.Close() }()
	data, err := readAll(res)
	switch {
	case res.StatusCode >= http.StatusMultipleChoices:
		return nil, e.refusal(res, data)
	case err == nil && cutSilently(res, data):
		err = io.ErrUnexpectedEOF
	}
	switch {
	case err == nil:
		return data, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, errTooLarge):
		return nil, e.malformed(err)
	}
	return nil, e.unreachable(err)
}

func readAll(res *http.Response) ([]byte, error) {
	var b bytes.Buffer
	if n := res.ContentLength; n > 0 && n <= maxBody {
		b.Grow(int(n) + bytes.MinRead)
	}
	_, err := b.ReadFrom(res.Body)
	return b.Bytes(), err
}

// cutSilently reports whether a body that only the end of the connection delimits stops inside of its JSON.
func cutSilently(res *http.Response, data []byte) bool {
	if res.ContentLength >= 0 || len(res.TransferEncoding) > 0 {
		return false
	}
	err := json.NewDecoder(bytes.NewReader(data)).Decode(new(json.RawMessage))
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

func orElse(choices ...string) string {
	for _, c := range choices {
		if c != "" {
			return c
		}
	}
	return ""
}
