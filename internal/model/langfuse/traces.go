package langfuse

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// RawTrace is a logged trace as Langfuse 3 has it.
type RawTrace struct {
	ID string
	// Raw is the trace as JSON, on one line.
	Raw json.RawMessage
}

// UnmarshalJSON keeps the whole of a trace.
func (t *RawTrace) UnmarshalJSON(data []byte) error {
	var id struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(data, &id); err != nil {
		return err
	}
	var line bytes.Buffer
	err := json.Compact(&line, data)
	t.ID, t.Raw = id.ID, line.Bytes()
	return err
}

func (t RawTrace) lacks() string { return lacking("id", t.ID) }
func (t RawTrace) key() string   { return t.ID }

// Traces yields the traces of a time, the oldest first, so that one that is logged meanwhile comes behind those that
// were read. Zero is no bound; until is excluded. Of Langfuse 4, which has no traces, they are made of the outermost
// spans.
func (c *Client) Traces(ctx context.Context, since, until time.Time) iter.Seq2[RawTrace, error] {
	r := request{
		what: "list the traces", method: http.MethodGet, path: []string{"traces"},
		query: within("Timestamp", since, until), retry: true,
	}
	r.query.Set("orderBy", "timestamp.asc")
	return func(yield func(RawTrace, error) bool) {
		for t, err := range pages[RawTrace](ctx, c, r) {
			if gone(err) {
				c.outermost(ctx, within("StartTime", since, until))(yield)
				return
			}
			if !yield(t, err) || err != nil {
				return
			}
		}
	}
}

// within is the query for a time between two others.
func within(what string, since, until time.Time) url.Values {
	query := url.Values{}
	if !since.IsZero() {
		query.Set("from"+what, since.UTC().Format(time.RFC3339Nano))
	}
	if !until.IsZero() {
		query.Set("to"+what, until.UTC().Format(time.RFC3339Nano))
	}
	return query
}

// outermost yields traces of the outermost spans of Langfuse 4.
func (c *Client) outermost(ctx context.Context, query url.Values) iter.Seq2[RawTrace, error] {
	query.Set("fields", "core,basic,io,metadata,model,trace_context")
	query.Set("isRootObservation", "true")
	r := request{
		what: "list the traces", method: http.MethodGet, path: []string{"v2", "observations"}, query: query,
		retry: true,
	}
	return func(yield func(RawTrace, error) bool) {
		for e, err := range stretches[event](ctx, c, r) {
			if err != nil {
				yield(RawTrace{}, err)
				return
			}
			trace := map[string]any{
				"id": e.TraceID, "sessionId": e.SessionID, "userId": e.UserID, "timestamp": e.Start,
				"input": unquoted(e.Input), "output": unquoted(e.Output), "metadata": e.Metadata,
			}
			if took := e.End.Sub(e.Start); !e.End.IsZero() && took >= 0 {
				trace["latency"] = took.Seconds()
			}
			raw, err := json.Marshal(trace)
			if !yield(RawTrace{e.TraceID, raw}, err) || err != nil {
				return
			}
		}
	}
}
