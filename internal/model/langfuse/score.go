package langfuse

import (
	"cmp"
	"context"
	"crypto/rand"
	"math"
	"net/http"
)

// maxComment bounds a comment in characters; a longer one is cut.
const maxComment = 5000

// Score grades a trace, a span of it, a run, or a session. Exactly one of TraceID, RunID and SessionID is set.
type Score struct {
	// ID identifies the score: sending it again replaces the score. Empty means a random ID.
	ID   string
	Name string
	// Value is a finite number.
	Value float64
	// TraceID is the graded trace, ObservationID one of its spans. Langfuse 4 expects the score of an experiment at the
	// root span.
	TraceID       string
	ObservationID string
	// RunID is the id of a run, or of an experiment in Langfuse 4.
	RunID     string
	SessionID string
	// Comment gives the reason; it is cut after 5000 characters.
	Comment  string
	Metadata map[string]any
}

// CreateScore creates a score, or replaces the one with its ID, and returns the ID. A score that Langfuse would refuse
// is an error before anything is sent.
func (c *Client) CreateScore(ctx context.Context, s Score) (string, error) {
	what := "create the score " + quote(s.Name)
	s.ID = cmp.Or(s.ID, rand.Text())
	if fault := s.fault(); fault != "" {
		return "", c.invalid(what, "%s", fault)
	}
	body, err := c.encode(what, struct {
		ID            string         `json:"id"`
		Name          string         `json:"name"`
		Value         float64        `json:"value"`
		Type          string         `json:"dataType"`
		TraceID       string         `json:"traceId,omitempty"`
		ObservationID string         `json:"observationId,omitempty"`
		RunID         string         `json:"datasetRunId,omitempty"`
		SessionID     string         `json:"sessionId,omitempty"`
		Comment       string         `json:"comment,omitempty"`
		Metadata      map[string]any `json:"metadata,omitempty"`
		Environment   string         `json:"environment,omitempty"`
	}{
		s.ID, s.Name, s.Value, "NUMERIC", s.TraceID, s.ObservationID, s.RunID, s.SessionID, clip(s.Comment, maxComment),
		s.Metadata, c.environment,
	})
	if err != nil {
		return "", err
	}
	var created identity
	err = c.do(ctx, request{
		what: what, method: http.MethodPost, path: []string{"scores"}, body: body, retry: true,
	}, &created)
	return created.ID, err
}

// fault says why Langfuse would refuse the score; "" if it would not.
func (s Score) fault() string {
	targets := 0
	for _, id := range []string{s.TraceID, s.RunID, s.SessionID} {
		if id != "" {
			targets++
		}
	}
	switch {
	case s.Name == "" || len(s.Name) > maxName || len(s.ID) > maxName:
		return "it has no name, or its name is too long"
	case targets != 1:
		return "it needs one of a trace, a run and a session"
	case s.ObservationID != "" && s.TraceID == "":
		return "it has a span but no trace"
	case math.IsNaN(s.Value) || math.IsInf(s.Value, 0):
		return "its value is not a finite number"
	}
	return ""
}

// CreateScores creates scores one after the other and continues after a failure. Unless all are created, the error is a
// *PushError with the outcome of each score by ID. It sets the ID of a score without one, so that the caller can
// identify it and send it again.
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
