package talk

import (
	"time"

	"rehearse/internal/result"
)

// Record returns the talk as the record of a conversation, in which pages show it.
func (h *Held) Record(v View) *result.Test {
	t := &result.Test{
		Schema: result.Schema, TestID: "talk", Target: h.Name, SessionID: v.SessionID, EndedByAgent: v.Over, StartedAt: h.Began.UTC(),
		Scores: v.Scores, Output: h.said(v), Turns: []result.Turn{}, Failures: []result.Failure{}, Judge: v.Judge, Cost: v.Judge.Cost,
	}
	for i, turn := range v.Turns {
		t.Turns = append(t.Turns, RecordOf(i+1, turn))
		t.Usage, t.Cost = t.Usage.Add(turn.Reply.Usage), t.Cost.Add(turn.Reply.Cost)
		t.DurationMS += milliseconds(turn.Reply.Latency)
	}
	return t
}

// RecordOf returns a turn as a record has it.
func RecordOf(n int, t Turn) result.Turn {
	r := t.Reply
	x := result.Turn{
		Index: n, Output: r.Text, LatencyMS: milliseconds(r.Latency), Attempts: r.Attempts, ToolCalls: r.ToolCalls, Node: r.Node, State: r.State,
		Usage: r.Usage, Cost: r.Cost, TraceID: r.TraceID, FinishReason: r.FinishReason, FirstTextMS: milliseconds(r.FirstText), Requests: r.Requests,
	}
	x.Input.Text = t.Message
	return x
}

// milliseconds returns a time to the microsecond.
func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
