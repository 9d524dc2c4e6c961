package replay_test

import (
	"fmt"
	"time"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

// A session of two turns went from hello to where to bye. The candidate stayed in where, so one of the two states is
// the log's.
func ExampleMeasure() {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	session := &replay.Session{ID: "s1", FlowID: "ride", Completed: true, Messages: []replay.LoggedMessage{
		{User: true, Text: "I need a taxi", Before: "hello", After: "where", At: at},
		{User: true, Text: "to the airport", Before: "where", After: "bye", At: at.Add(time.Second)},
	}}
	pair := &replay.Pair{SessionID: "s1", FlowID: "ride", Mode: replay.Recorded, Variations: []replay.Variation{
		{Name: replay.Observed, Completed: true, Turns: []replay.VariationTurn{
			{Number: 1, Before: "hello", State: "where", Supported: true},
			{Number: 2, Before: "where", State: "bye", Supported: true},
		}},
		{Name: replay.Candidate, Turns: []replay.VariationTurn{
			{Number: 1, Before: "hello", State: "where", Supported: true},
			{Number: 2, Before: "where", State: "where", Supported: true},
		}},
	}}
	replay.Measure(session, pair, replay.Measuring{})
	m := pair.Variation(replay.Candidate).Metrics
	fmt.Printf("completion %.0f, states %.1f, first divergence in turn %d\n", *m.CompletionMatch, *m.StateProgression,
		*m.FirstDivergence)
	// Output: completion 0, states 0.5, first divergence in turn 2
}
