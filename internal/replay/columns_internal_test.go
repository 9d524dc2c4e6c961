package replay

import (
	"fmt"
	"math"
	"testing"
)

// TestSureRate holds a rate that is the same in every session to what so many users can show: never ± 0, whether users
// come back or not.
func TestSureRate(t *testing.T) {
	match, ratio, latency := &table[columnOf(CompletionMatch)], &table[columnOf(TurnCountRatio)],
		&table[columnOf(AvgLatency)]
	states := &table[columnOf(StateProgression)]
	for _, tc := range []struct {
		metric    *metric
		value     float64
		low, high float64
	}{
		{match, 1, 1 - 3.0/20, 1},
		{match, 0, 0, 3.0 / 20},
		{states, 1, 1 - 3.0/20, 1},
		{states, 0.5, 0.5 - 3.0/20, 0.5 + 3.0/20},
		{ratio, 1, 1 - 3.0/20, 1 + 3.0/20},
		{latency, 7, 7, 7}, // no rate: its range is not known
	} {
		var tally Tally
		var column []float64
		for i := range 60 {
			tally.sessions = append(tally.sessions, played{id: fmt.Sprint(i), unit: fmt.Sprint("user ", i%20)})
			column = append(column, tc.value)
		}
		e := tally.estimate(tc.metric, ByAuto, column)
		if e.Low == nil || e.High == nil || math.Abs(*e.Low-tc.low) > 1e-9 || math.Abs(*e.High-tc.high) > 1e-9 {
			t.Errorf("%s %v: %v to %v, want %v to %v", tc.metric.name, tc.value, *e.Low, *e.High, tc.low, tc.high)
		}
	}
}
