package langfuse_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/model/langfuse"
	"github.com/rehearse-dev/rehearse/internal/model/langfuse/langfusetest"
)

func TestScores(t *testing.T) {
	s := langfusetest.New(t)
	c := connect(t, s, s.Transport(), langfuse.Config{Environment: "evaluation"})
	for _, score := range []langfuse.Score{
		{ID: "s1", Name: "correct", Value: 1, TraceID: "t", ObservationID: "o", Comment: strings.Repeat("é", 5001)},
		{ID: "s2", Name: "macro_f1", Value: 0.75, RunID: "run", Metadata: map[string]any{"threshold": 0.8}},
		{ID: "s3", Name: "verdict", Value: 0.5, SessionID: "session"},
		{ID: "s1", Name: "correct", Value: 0, TraceID: "t"},
	} {
		if id, err := c.CreateScore(t.Context(), score); err != nil || id != score.ID {
			t.Errorf("%s: %q, %v", score.Name, id, err)
		}
	}
	want := []map[string]any{
		{
			"id": "s1", "name": "correct", "value": 0.0, "dataType": "NUMERIC", "traceId": "t",
			"environment": "evaluation",
		},
		{
			"id": "s2", "name": "macro_f1", "value": 0.75, "dataType": "NUMERIC", "datasetRunId": "run",
			"metadata": map[string]any{"threshold": 0.8}, "environment": "evaluation",
		},
		{
			"id": "s3", "name": "verdict", "value": 0.5, "dataType": "NUMERIC", "sessionId": "session",
			"environment": "evaluation",
		},
	}
	if d := cmp.Diff(want, s.Scores()); d != "" {
		t.Error(d)
	}
	if id, err := c.CreateScore(t.Context(), langfuse.Score{Name: "n", Value: -0.5, TraceID: "t"}); err != nil ||
		len(id) < 20 {
		t.Errorf("without an id: %q, %v", id, err)
	}
}

func TestComment(t *testing.T) {
	s, c := inside(t)
	_, err := c.CreateScore(t.Context(), langfuse.Score{
		Name: "n", Value: 1, TraceID: "t", Comment: strings.Repeat("é", 5001),
	})
	if got, _ := s.Scores()[0]["comment"].(string); err != nil || got != strings.Repeat("é", 4999)+"…" {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestScoresRefused(t *testing.T) {
	s, c := inside(t)
	const one = 1
	for _, score := range []struct {
		langfuse.Score
		want string
	}{
		{langfuse.Score{Name: "n", Value: math.NaN(), TraceID: "t"}, "not a finite number"},
		{langfuse.Score{Name: "n", Value: math.Inf(-1), TraceID: "t"}, "not a finite number"},
		{langfuse.Score{Value: one, TraceID: "t"}, "it has no name"},
		{langfuse.Score{Name: "n", Value: one}, "one of a trace, a run and a session"},
		{langfuse.Score{Name: "n", Value: one, TraceID: "t", RunID: "r"}, "one of a trace, a run and a session"},
		{langfuse.Score{Name: "n", Value: one, RunID: "r", ObservationID: "o"}, "a span but no trace"},
		{
			langfuse.Score{Name: "n", Value: one, TraceID: "t", Metadata: map[string]any{"x": math.NaN()}},
			"cannot be written as JSON",
		},
	} {
		wants(t, second(c.CreateScore(t.Context(), score.Score)), score.want)
	}
	if n := len(s.Requests()); n > 0 {
		t.Errorf("%d were sent", n)
	}
	scores := []langfuse.Score{
		{Name: "a", Value: one, TraceID: "t"}, {Name: "b", Value: math.NaN(), TraceID: "t"},
		{ID: "c", Name: "c", Value: one, RunID: "r"},
	}
	err := c.CreateScores(t.Context(), scores)
	if d := cmp.Diff(fate{[]string{scores[0].ID, "c"}, []string{scores[1].ID}, nil}, fateOf(t, err)); d != "" ||
		scores[1].ID == "" {
		t.Error(d)
	}
	if _, ours := errors.AsType[*langfuse.Error](err); !ours || len(s.Scores()) != 2 {
		t.Errorf("%v, %v", err, s.Scores())
	}
	wants(t, second(answering(t, says(200, `{"id":null}`)).CreateScore(t.Context(), scores[0])), "the answer lacks id")
}
