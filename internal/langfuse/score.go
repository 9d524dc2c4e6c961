package langfuse

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"math"
	"net/http"
	"unicode/utf8"
)

const (
	// maxComment bounds a comment in characters; a longer one is cut.
	maxComment = 5000
	// maxCategory bounds a category in characters.
	maxCategory = 500
)

// Value is the value of a score; Numeric, Boolean and Category make one.
type Value struct {
	kind   string
	number float64
	text   string
}

// Numeric returns the value of a number, which must be finite.
func Numeric(v float64) Value { return Value{kind: "NUMERIC", number: v} }

// Boolean returns the value of true or false.
func Boolean(v bool) Value {
	if v {
		return Value{kind: "BOOLEAN", number: 1}
	}
	return Value{kind: "BOOLEAN"}
}

// Category returns the value of a text of 1 to 500 characters.
func Category(v string) Value { return Value{kind: "CATEGORICAL", text: v} }

// MarshalJSON writes the value alone, without its kind.
func (v Value) MarshalJSON() ([]byte, error) {
	if v.kind == "CATEGORICAL" {
		return json.Marshal(v.text)
	}
	return json.Marshal(v.number)
}

// fault says why Langfuse would refuse the value; "" if it would not.
func (v Value) fault() string {
	switch {
	case v.kind == "":
		return "it has no value"
	case math.IsNaN(v.number) || math.IsInf(v.number, 0):
		return "its value is not a finite number"
	case v.kind == "CATEGORICAL" && (v.text == "" || utf8.RuneCountInString(v.text) > maxCategory):
		return "its category is empty or longer than 500 characters"
	}
	return ""
}

// Score grades a trace, a span of it, a run, or a session. Exactly one of TraceID, RunID and SessionID is set.
type Score struct {
	// ID identifies the score: sending it again replaces the score. Empty means a random ID.
	ID    string
	Name  string
	Value Value
	// TraceID is the graded trace, ObservationID one of its spans. Langfuse 4 expects the score of an experiment at the root span.
	TraceID       string
	ObservationID string
	// RunID is the id of a run, or of an experiment in Langfuse 4.
	RunID     string
	SessionID string
	// Comment gives the reason; it is cut after 5000 characters.
	Comment  string
	Metadata map[string]any
}

// CreateScore creates a score, or replaces the one with its ID, and returns the ID. A score that Langfuse would refuse is an error before
// anything is sent.
func (c *Client) CreateScore(ctx context.Context, s Score) (string, error) {
	what := "create the score " + quote(s.Name)
	s.ID = cmp.Or(s.ID, rand.Text())
	if fault := s.fault(); fault != "" {
		return "", c.invalid(what, "%s", fault)
	}
	body, err := c.encode(what, struct {
		ID            string         `json:"id"`
		Name          string         `json:"name"`
		Value         Value          `json:"value"`
		Type          string         `json:"dataType"`
		TraceID       string         `json:"traceId,omitempty"`
		ObservationID string         `json:"observationId,omitempty"`
		RunID         string         `json:"datasetRunId,omitempty"`
		SessionID     string         `json:"sessionId,omitempty"`
		Comment       string         `json:"comment,omitempty"`
		Metadata      map[string]any `json:"metadata,omitempty"`
		Environment   string         `json:"environment,omitempty"`
	}{s.ID, s.Name, s.Value, s.Value.kind, s.TraceID, s.ObservationID, s.RunID, s.SessionID, clip(s.Comment, maxComment), s.Metadata, c.environment})
	if err != nil {
		return "", err
	}
	var created identity
	err = c.do(ctx, request{what: what, method: http.MethodPost, path: []string{"scores"}, body: body, retry: true}, &created)
	return created.ID, err
}

func (s Score) fault() string {
	targets := 0
	for _, id := range []string{s.TraceID, s.RunID, s.SessionID} {
		if id != "" {
			targets++
		}
	}
	switch {
	case s.Name == "" || len(s.Name) > maxName || len(s.ID) > maxName:
		return "it has no name, or one that is too long"
	case targets != 1:
		return "it needs one of a trace, a run and a session"
	case s.ObservationID != "" && s.TraceID == "":
		return "it has a span but no trace"
	}
	return s.Value.fault()
}

// CreateScores creates scores one after the other and continues after a failure. Unless all are created, the error is a *PushError with
// the outcome of each score by ID. It sets the ID of a score without one, so that the caller can identify it and send it again.
func (c *Client) CreateScores(ctx context.Context, scores []Score) error {
	for i := range scores {
		scores[i].ID = cmp.Or(scores[i].ID, rand.Text())
	}
	return push("scores", parcels(scores, func(s Score) string { return s.ID }, func(s Score) error {
		_, err := c.CreateScore(ctx, s)
		return err
	}))
}

// identity is an answer that has an ID only.
type identity struct {
	ID string `json:"id"`
}

func (i *identity) lacks() string { return lacking("id", i.ID) }
