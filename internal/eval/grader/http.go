package grader

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/httpclient"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// service is a web service that grades: JSON in a POST, JSON in the response.
type service struct {
	check runner.Check
	url   string
	// name is the address without its parts that may be secret.
	name    string
	config  any
	timeout time.Duration
	client  *http.Client
}

func newHTTP(a *Args) runner.Grader {
	address := a.Text("url", "where the exchange is sent by POST, as JSON")
	config, _ := a.Node("config", "any value", "passed to the service as it is", false)
	s := &service{
		url: address, config: config.Any(), client: a.set.HTTP,
		timeout: a.DurationOr("timeout", defaultTimeout, "how long the service may take (60s)"),
	}
	if a.set.outside != nil {
		a.set.outside.Addresses = append(a.set.outside.Addresses, address)
	}
	if s.client == nil {
		s.client = httpclient.Client(nil)
	}
	u, err := url.Parse(address)
	if a.node.Has("url") && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		a.Report("url", "write a whole address such as https://example.org/grade", "not an http address: %s",
			quote(address))
	}
	if err == nil {
		s.name = "service " + u.Scheme + "://" + u.Host + u.Path
	}
	s.check = runner.Check{Assertion: a.Assertion}
	return s
}

// Grade asks the service once.
func (s *service) Grade(ctx context.Context, x *runner.Exchange) (result.Grade, error) {
	body, err := newRequest(x, s.config)
	if err != nil {
		return result.Grade{}, fmt.Errorf("%s: %w", s.name, err)
	}
	limited, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	data, err := s.post(limited, body)
	switch {
	case ctx.Err() != nil:
		return result.Grade{}, fmt.Errorf("%s: %w", s.name, ctx.Err())
	case limited.Err() != nil:
		return result.Grade{}, fmt.Errorf("%s: no answer within %s", s.name, s.timeout)
	case err != nil:
		return result.Grade{}, fmt.Errorf("%s: %w", s.name, err)
	}
	return parseAnswer(data, s.name, s.check, x)
}

func (s *service) post(ctx context.Context, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := s.client.Do(request)
	if err != nil {
		return nil, bare(err)
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1)) // one byte more than parseAnswer accepts
	if err != nil {
		return nil, fmt.Errorf("response: %w", err)
	}
	if redirect := httpclient.Redirect(response); redirect != "" {
		return nil, fmt.Errorf("status %s: %s, which is not followed", response.Status, redirect)
	}
	if response.StatusCode/100 != 2 {
		return nil, fmt.Errorf("status %s: %s", response.Status, quote(strings.TrimSpace(string(data))))
	}
	return data, nil
}

// bare removes the address that net/http puts before an error; the sentence around it has the address already.
func bare(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}
