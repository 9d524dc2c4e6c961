package replay_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

const taxi = `
flow:
  name: taxi
  version: 1
  initial_state: who
  states:
    who: {type: data_collection, message: Your name?, field: CustomerName}
    where: {type: data_collection, message: Where to?}
    bye: {type: end, message: Goodbye.}
  transitions:
    - {from: who, to: where, condition: {type: always}}
    - {from: where, to: bye, condition: {type: exists, field: CustomerName}}
`

// TestFieldsOfTheLog proves that collected data have the names that they have in the log, and that in forced mode what
// was collected at one turn is there at the next.
func TestFieldsOfTheLog(t *testing.T) {
	for _, mode := range []replay.Mode{replay.Recorded, replay.Forced} {
		s := talked("s", "who Ada → where", "where Rome → bye")
		s.Data = map[string]any{"CustomerName": "Ada", "where": "Rome"}
		pair, err := (&replay.Replayer{Candidate: agentOf(t, taxi), Mode: mode}).Replay(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		replay.Measure(s, pair, replay.Measuring{})
		lane := pair.Variation(replay.Candidate)
		if d := cmp.Diff(s.Data, lane.Data); d != "" || *lane.Metrics.DataAccuracy != 1 || !lane.Completed {
			t.Errorf("%s: accuracy %v, completed %t, data (-want +got):\n%s", mode, *lane.Metrics.DataAccuracy,
				lane.Completed, d)
		}
	}
}
