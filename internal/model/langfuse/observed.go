package langfuse

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
)

// event is a span in the form of Langfuse 4, with the data of its trace.
type event struct {
	Observation
	TraceID   string          `json:"traceId"`
	TraceName string          `json:"traceName"`
	SessionID string          `json:"sessionId"`
	UserID    string          `json:"userId"`
	Tags      []string        `json:"tags"`
	Root      bool            `json:"isRootObservation"`
	Model     string          `json:"providedModelName"`
	Metadata  json.RawMessage `json:"metadata"`
}

func (e event) lacks() string {
	if missing := e.Observation.lacks(); missing != "" {
		return missing
	}
	return lacking("traceId", e.TraceID)
}
func (e event) key() string { return e.TraceID + " " + e.ID }

// observed makes traces of the spans of Langfuse 4, ordered by time. If there are no spans, it returns the error
// absent.
func (c *Client) observed(ctx context.Context, what string, query url.Values, absent error) ([]Exchange, error) {
	query.Set("fields", "core,basic,io,metadata,model,trace_context")
	found := map[string]*Exchange{}
	for e, err := range stretches[event](ctx, c, request{
		what: what, method: http.MethodGet, path: []string{"v2", "observations"}, retry: true, query: query,
	}) {
		if e, ok := errors.AsType[*Error](err); ok && e.Status != 0 && !e.trouble {
			return nil, absent // Langfuse 3 does not have, or does not return, this list
		}
		if err != nil {
			return nil, err
		}
		trace, ok := found[e.TraceID]
		if !ok {
			if len(found) == maxExchanges {
				return nil, c.malformed(request{what: what}, "there are more than 10,000 traces")
			}
			trace = &Exchange{TraceID: e.TraceID}
			found[e.TraceID] = trace
		}
		trace.add(e)
	}
	if len(found) == 0 {
		return nil, absent
	}
	all := []Exchange{}
	for _, trace := range found {
		slices.SortStableFunc(trace.Observations, byStart)
		all = append(all, *trace)
	}
	slices.SortFunc(all, Exchange.compare)
	return all, nil
}

// add adds a span. In Langfuse 4, a trace's input and output are those of its root.
func (e *Exchange) add(seen event) {
	o := seen.Observation
	o.Model, o.Input, o.Output = seen.Model, unquoted(o.Input), unquoted(o.Output)
	e.Observations = append(e.Observations, o)
	if e.At.IsZero() || o.Start.Before(e.At) {
		e.At = o.Start
	}
	if seen.Root || o.ParentID == "" {
		e.Name, e.SessionID, e.UserID, e.Tags = cmp.Or(seen.TraceName, o.Name), seen.SessionID, seen.UserID, seen.Tags
		e.Input, e.Output, e.Metadata = o.Input, o.Output, seen.Metadata
	}
}

// unquoted reads JSON that Langfuse 4 returns as text. Any other text stays a JSON text.
func unquoted(raw json.RawMessage) json.RawMessage {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return raw
	}
	if inner := bytes.TrimSpace([]byte(text)); json.Valid(inner) {
		return inner
	}
	return raw
}
