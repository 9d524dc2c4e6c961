package enrich

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/httpclient"
)

// maxAnswer bounds what is read of one answer, in bytes.
const maxAnswer = 1 << 20

// service is a JSON API at a fixed address. What visitors say goes into query parameters and bodies only, never into
// the address: no visitor can turn a request elsewhere.
type service struct {
	// name begins every error.
	name   string
	base   *url.URL
	header http.Header
	// secrets are the keys; they are taken out of what the service says in errors.
	secrets []string
	client  *http.Client
}

// newService checks a base URL. Redirects are not followed: the key would go along.
func newService(name, base, key string, transport http.RoundTripper) (*service, error) {
	u, err := url.Parse(base)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil,
			fmt.Errorf("%s: the base URL is not an http address: write one such as https://api.example.com", name)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("%s: the base URL has more than host and path: put keys where keys belong", name)
	case key == "":
		return nil, fmt.Errorf("%s: no key: set the variable that holds it", name)
	}
	return &service{
		name: name, base: u, header: http.Header{"Accept": {"application/json"}}, secrets: []string{key},
		client: httpclient.Client(transport),
	}, nil
}

// request is one call of a service.
type request struct {
	method, path string
	query        url.Values
	header       http.Header
	// body is sent as JSON; nil sends none.
	body any
	// absent are the statuses that mean that the service knows nothing.
	absent []int
	// private are values of the visitor's; they are taken out of what the service says in errors.
	private []string
}

// call returns the answer decoded from JSON, or nil where there is none. Other statuses than those of success, or of a
// service that knows nothing, are errors.
func (s *service) call(ctx context.Context, r request) (any, error) {
	res, err := s.send(ctx, r)
	if err != nil {
		return nil, s.errorf("%w", bare(err))
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, s.errorf("the answer broke off: %w", err)
	case len(data) > maxAnswer:
		return nil, s.errorf("the answer is larger than 1 MB")
	case slices.Contains(r.absent, res.StatusCode):
		return nil, nil
	case res.StatusCode/100 != 2:
		return nil, s.errorf("status %d%s", res.StatusCode, s.why(res, data, r.private))
	case len(bytes.TrimSpace(data)) == 0:
		return nil, nil
	}
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		return nil, s.errorf("the answer is not JSON: is the address right?")
	}
	return value, nil
}

func (s *service) send(ctx context.Context, r request) (*http.Response, error) {
	u := s.base.JoinPath(r.path)
	u.RawQuery = r.query.Encode()
	var body io.Reader
	if r.body != nil {
		data, err := json.Marshal(r.body)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, u.String(), body)
	if err != nil {
		return nil, err
	}
	for _, headers := range []http.Header{s.header, r.header} {
		maps.Copy(req.Header, headers)
	}
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return s.client.Do(req)
}

// why says what to do about a refusal, or else what the service says about it.
func (s *service) why(res *http.Response, data []byte, private []string) string {
	redirect, status := httpclient.Redirect(res), res.StatusCode
	switch {
	case redirect != "":
		return ": " + redirect + "; use the address that it redirects to as the base URL"
	case status == http.StatusUnauthorized:
		return ": check the key"
	case status == http.StatusTooManyRequests:
		return ": too many requests"
	}
	var said struct{ Message string }
	if json.Unmarshal(data, &said) != nil || said.Message == "" {
		return ""
	}
	text := said.Message
	for _, secret := range slices.Concat(s.secrets, private) {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "***")
		}
	}
	// Clipped last, or half a key could stay at the end.
	runes := []rune(plain(text))
	return ": " + string(runes[:min(len(runes), 200)])
}

// errorf is an error that says who failed, without the address's path: paths and queries may identify visitors.
func (s *service) errorf(format string, args ...any) error {
	return fmt.Errorf("%s://%s: "+format, append([]any{s.base.Scheme, s.base.Host}, args...)...)
}

// bare drops the address that net/http puts before an error: it holds the visitor's.
func bare(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}
