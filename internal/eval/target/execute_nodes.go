package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// Bounds of the question for a flow's nodes.
const (
	nodesTime = 10 * time.Second
	maxNodes  = 8 << 20
)

// errNoServer says that a target's flow is of no server.
var errNoServer = errors.New("the target's flow is of no server")

// NodesOfServer asks the server of an execute target for the nodes of its flow: the answer to GET /api/v1/flows/{id}.
func NodesOfServer(ctx context.Context, t config.Target, p Parts) ([]byte, error) {
	c, ok := t.Options.(ExecuteConfig)
	if !ok || c.Flow.ID == "" {
		return nil, errNoServer
	}
	opened, err := c.open(t.Model, p)
	if err != nil {
		return nil, err
	}
	e, ok := opened.(*Execute)
	if !ok {
		return nil, errNoServer
	}
	address, err := nodesAddress(c.URL, e.Flow.Ref)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, nodesTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, e.unreached(err)
	}
	request.Header = e.Header.Clone()
	request.Header.Set("Accept", "application/json")
	answer, err := e.Client.Do(request)
	if err != nil {
		return nil, e.unreached(err)
	}
	defer answer.Body.Close() //nolint:errcheck // the body was read to its end or is abandoned
	data, err := io.ReadAll(io.LimitReader(answer.Body, maxNodes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: the answer broke off: %w", text.Address(address), err)
	case answer.StatusCode != http.StatusOK:
		return nil, &httpError{url: text.Address(address), status: answer.StatusCode, detail: detailOf(answer, data)}
	case len(data) > maxNodes:
		return nil, fmt.Errorf("%s: the answer is larger than %d MB", text.Address(address), maxNodes>>20)
	}
	return data, nil
}

// nodesAddress is where the server whose flows are executed at an address tells the nodes of one.
func nodesAddress(execute, id string) (string, error) {
	u, err := url.Parse(execute)
	if err != nil {
		return "", fmt.Errorf("the address of an execute target: %w", errors.Unwrap(err))
	}
	base := strings.TrimSuffix(u.Path, "/")
	for _, end := range []string{"/execute", "/internal/agent/test"} {
		if under, ok := strings.CutSuffix(base, end); ok {
			base = under
			break
		}
	}
	u.RawQuery, u.Fragment = "", ""
	u.Path, u.RawPath = base, ""
	return u.JoinPath("api", "v1", "flows", url.PathEscape(id)).String(), nil
}
