package langfuse

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
)

// erasedAtOnce is how many traces are deleted by one request.
const erasedAtOnce = 100

// EraseSession asks for the deletion of all traces of a session. Langfuse deletes them some time later. There may be
// none.
func (c *Client) EraseSession(ctx context.Context, id string) error {
	what := "delete the traces of the session " + quote(id)
	r := request{what: what, method: http.MethodGet, path: []string{"sessions", id}, retry: true}
	var s session
	var found []Exchange
	err := c.do(ctx, r, &s)
	switch {
	case err == nil:
		found = *s.Traces
	case gone(err): // Langfuse 4 has no sessions, or there is none
		found, err = c.observed(ctx, what, url.Values{"sessionId": {id}, "isRootObservation": {"true"}}, err)
	}
	if errors.Is(err, ErrNotFound) || Absent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	ids := make([]string, 0, len(found))
	for _, e := range found {
		ids = append(ids, e.TraceID)
	}
	for some := range slices.Chunk(ids, erasedAtOnce) {
		body, err := c.encode(what, map[string][]string{"traceIds": some})
		if err != nil {
			return err
		}
		if err := c.remove(ctx, request{what: what, path: []string{"traces"}, body: body}); err != nil {
			return err
		}
	}
	return nil
}
