package langfuse

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// Exchange is a logged trace: an application's input and output.
type Exchange struct {
	TraceID   string          `json:"id"`
	Name      string          `json:"name"`
	SessionID string          `json:"sessionId"`
	UserID    string          `json:"userId"`
	At        time.Time       `json:"timestamp"`
	Input     json.RawMessage `json:"input"`
	Output    json.RawMessage `json:"output"`
	Metadata  json.RawMessage `json:"metadata"`
	Tags      []string        `json:"tags"`
	// Observations are the trace's spans by their start; only Trace has them.
	Observations []Observation `json:"observations"`
}

func (e Exchange) lacks() string {
	if missing := lacking("id", e.TraceID); missing != "" {
		return missing
	}
	if e.At.IsZero() {
		return "timestamp"
	}
	return rowsLack(e.Observations)
}

// compare orders exchanges by their time.
func (e Exchange) compare(other Exchange) int {
	return cmp.Or(e.At.Compare(other.At), cmp.Compare(e.TraceID, other.TraceID))
}

// Observation is a span that was logged.
type Observation struct {
	ID       string          `json:"id"`
	ParentID string          `json:"parentObservationId"`
	Type     string          `json:"type"`
	Name     string          `json:"name"`
	Level    string          `json:"level"`
	Model    string          `json:"model"`
	Start    time.Time       `json:"startTime"`
	End      time.Time       `json:"endTime"`
	Input    json.RawMessage `json:"input"`
	Output   json.RawMessage `json:"output"`
}

func (o Observation) lacks() string {
	if missing := lacking("id", o.ID, "type", o.Type); missing != "" || !o.Start.IsZero() {
		return missing
	}
	return "startTime"
}
func (o Observation) key() string { return o.ID }

// Trace returns a trace with its spans, or ErrNotFound. A trace that was sent a moment ago may not exist yet.
func (c *Client) Trace(ctx context.Context, id string) (Exchange, error) {
	r := request{what: "get the trace " + quote(id), method: http.MethodGet, path: []string{"traces", id}, retry: true}
	var e Exchange
	err := c.do(ctx, r, &e)
	if gone(err) {
		all, err := c.observed(ctx, r.what, url.Values{"traceId": {id}}, err)
		if err != nil {
			return Exchange{}, err
		}
		return all[0], nil
	}
	if err != nil {
		return Exchange{}, err
	}
	slices.SortStableFunc(e.Observations, byStart)
	return e, nil
}

func byStart(a, b Observation) int { return a.Start.Compare(b.Start) }

// maxExchanges bounds the traces of a session.
const maxExchanges = 10_000

// Session returns the traces of a session ordered by time, each with its input and output, or ErrNotFound. It asks for
// each trace that the session itself does not include.
func (c *Client) Session(ctx context.Context, id string) ([]Exchange, error) {
	r := request{
		what: "get the session " + quote(id), method: http.MethodGet, path: []string{"sessions", id}, retry: true,
	}
	var s session
	err := c.do(ctx, r, &s)
	if gone(err) {
		all, err := c.observed(ctx, r.what, url.Values{"sessionId": {id}, "isRootObservation": {"true"}}, err)
		return bare(all), err
	}
	if err != nil {
		return nil, err
	}
	if len(*s.Traces) > maxExchanges {
		return nil, c.malformed(r, "the session has more than 10,000 traces")
	}
	for i, e := range *s.Traces {
		if empty(e.Input) && empty(e.Output) {
			if (*s.Traces)[i], err = c.Trace(ctx, e.TraceID); err != nil {
				return nil, err
			}
		}
	}
	slices.SortFunc(*s.Traces, Exchange.compare)
	return bare(*s.Traces), nil
}

// bare drops the spans, because a session may have many.
func bare(all []Exchange) []Exchange {
	for i := range all {
		all[i].Observations = nil
	}
	return all
}

func empty(raw json.RawMessage) bool {
	return len(raw) == 0 || bytes.Equal(raw, []byte("null"))
}

// session is the answer that has a session.
type session struct {
	Traces *[]Exchange `json:"traces"`
}

func (s *session) lacks() string {
	if s.Traces == nil {
		return "traces"
	}
	for _, e := range *s.Traces {
		if missing := e.lacks(); missing != "" {
			return "traces." + missing
		}
	}
	return ""
}
