package replay_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// TestMeasureData holds that a field which a lane did not collect counts against it as a wrong one does.
func TestMeasureData(t *testing.T) {
	for _, tc := range []struct {
		name    string
		was, is map[string]any
		want    *replay.DataMatch
		share   float64
	}{
		{"all", map[string]any{"a": 1.0, "b": "x"}, map[string]any{"A": "1", "b": "X"}, &replay.DataMatch{Equal: 2}, 1},
		{
			"one wrong, one missing", map[string]any{"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0},
			map[string]any{"a": 1.0, "b": 2.0, "c": 9.0}, &replay.DataMatch{Equal: 2, Wrong: 1, Missing: 1}, 0.5,
		},
		{"all missing", map[string]any{"a": 1.0, "b": 2.0}, nil, &replay.DataMatch{Missing: 2}, 0},
		{
			"one of its own", map[string]any{"a": 1.0}, map[string]any{"a": 1.0, "b": 2.0},
			&replay.DataMatch{Equal: 1, Extra: 1}, 1,
		},
		{"nothing was collected", nil, map[string]any{"a": 1.0}, nil, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := talked("s", "hello book → bye")
			s.Data = tc.was
			pair := &replay.Pair{
				Mode:       replay.Recorded,
				Variations: []replay.Variation{{Name: replay.Observed}, {Name: replay.Candidate, Data: tc.is}},
			}
			replay.Measure(s, pair, replay.Measuring{})
			m := pair.Variation(replay.Candidate).Metrics
			if diff := cmp.Diff(tc.want, m.DataMatch); diff != "" {
				t.Errorf("data (-want +got)\n%s", diff)
			}
			if tc.want == nil && m.NormalAccuracy != nil || tc.want != nil && *m.NormalAccuracy != tc.share {
				t.Errorf("normalised accuracy %v, want %v", m.NormalAccuracy, tc.share)
			}
		})
	}
}

// TestThinkTime holds that a user thinks from an answer to the next message. Messages are "u" and "b" with the second
// at which they came.
func TestThinkTime(t *testing.T) {
	for messages, want := range map[string]float64{
		"":                           -1,
		"u0":                         -1,
		"u0 b1":                      -1,
		"u0 b1 u10":                  9,
		"u0 b1 u10 b11 u13 b14":      11,
		"b0 u4 b5 u7":                6,
		"u0 u5":                      -1, // nothing was answered
		"u0 b2 b3 u7 u20":            4,  // from the last answer to the first message
		"u0 b1 u1.5 b2 u2.25 b9 u30": 21.75,
	} {
		s, pair := &replay.Session{ID: "s"}, &replay.Pair{
			Mode: replay.Recorded, Variations: []replay.Variation{{Name: replay.Observed}, {Name: replay.Candidate}},
		}
		for m := range strings.FieldsSeq(messages) {
			at, err := strconv.ParseFloat(m[1:], 64)
			if err != nil {
				t.Fatal(err)
			}
			s.Messages = append(s.Messages, replay.LoggedMessage{
				User: m[0] == 'u', At: time.Unix(0, 0).Add(time.Duration(at * float64(time.Second))),
			})
		}
		replay.Measure(s, pair, replay.Measuring{})
		if got := pair.Variation(replay.Candidate).Metrics.UserSeconds; got == nil && want >= 0 ||
			got != nil && *got != want {
			t.Errorf("%q: %v, want %v", messages, got, want)
		}
	}
}

// TestLaneSums holds that a lane has taken what all of its turns took, and been on the path for as many as were.
func TestLaneSums(t *testing.T) {
	s := talked("s", "hello book → where", "where Rome → when", "when May → bye")
	observed := replay.Variation{
		Name: replay.Observed, Turns: []replay.VariationTurn{{Supported: true}, {Supported: true}, {Supported: true}},
	}
	pair := &replay.Pair{Mode: replay.Recorded, Variations: []replay.Variation{
		observed, {Name: replay.Candidate, Turns: []replay.VariationTurn{
			{State: "where", Supported: true, Tokens: 3, Cost: chat.Cost{USD: 0.25}, LatencyMS: new(10.0)},
			{State: "when", Supported: true, Tokens: 4, Cost: chat.Cost{USD: 0.5}, LatencyMS: new(30.0)},
			{State: "when", Tokens: 5, Cost: chat.Cost{USD: 1}, LatencyMS: new(80.0)},
		}},
	}}
	replay.Measure(s, pair, replay.Measuring{})
	m := pair.Variation(replay.Candidate).Metrics
	got := []float64{
		*m.Tokens, *m.CostUSD, *m.SupportCoverage, *m.AvgLatencyMS, float64(m.OnSupport.Turns),
		*m.OnSupport.AvgLatencyMS, *m.OnSupport.StateProgression,
	}
	if want := []float64{12, 1.75, 2. / 3, 40, 2, 20, 1}; !slices.Equal(got, want) {
		t.Errorf("tokens, cost, coverage, latency, and turns, latency, states on support: %v, want %v", got, want)
	}
}

// TestEndedEarlySimulated: with a simulated user, a lane ends early that completes before the user gave what the real
// one gave.
func TestEndedEarlySimulated(t *testing.T) {
	for _, tc := range []struct {
		name string
		data map[string]any
		said []string
		want float64
	}{
		{"all that was given", map[string]any{"city": "Rome"}, []string{"book", "to ROME"}, 0},
		{"not all", map[string]any{"city": "Rome", "month": "May"}, []string{"book", "Rome"}, 1},
		{
			"what the agent looked up", map[string]any{"city": "Rome", "code": 639431.0, "none": nil},
			[]string{"book", "Rome"}, 0,
		},
		{"nothing of it was the user's, messages left", map[string]any{"code": 639431.0}, []string{"book"}, 1},
		{
			"nothing of it was the user's, all said", map[string]any{"code": 639431.0}, []string{"May", "Rome", "book"},
			0,
		},
		{"no data, messages left", nil, []string{"book", "Rome"}, 1},
		{"no data, all said", nil, []string{"book", "Rome", "May"}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := talked("s", "hello book → where", "where Rome → when", "when May → bye")
			s.Data = tc.data
			observed, lane := replay.Variation{Name: replay.Observed, Completed: true},
				replay.Variation{Name: replay.Candidate, Completed: true}
			for _, text := range []string{"book", "Rome", "May"} {
				observed.Turns = append(observed.Turns, replay.VariationTurn{User: text})
			}
			for _, text := range tc.said {
				lane.Turns = append(lane.Turns, replay.VariationTurn{User: text, Bot: "yes"})
			}
			pair := &replay.Pair{Mode: replay.Simulated, Variations: []replay.Variation{observed, lane}}
			replay.Measure(s, pair, replay.Measuring{})
			if got := pair.Variation(replay.Candidate).Metrics.EndedEarly; got == nil || *got != tc.want {
				t.Errorf("ended early %v, want %g", got, tc.want)
			}
		})
	}
}

// TestEndsAddUp checks that completed is the sum of on path, off path and ended early.
func TestEndsAddUp(t *testing.T) {
	type ends struct{ completed, onPath, offPath, early float64 }
	for name, tc := range map[string]struct {
		turns     int
		supported bool
		completed bool
		want      ends
	}{
		"all turns, supported":   {3, true, true, ends{1, 1, 0, 0}},
		"all turns, unsupported": {3, false, true, ends{1, 0, 1, 0}},
		"half of the turns":      {2, true, true, ends{1, 0, 0, 1}},
		"half, unsupported":      {2, false, true, ends{1, 0, 0, 1}},
		"not completed":          {3, true, false, ends{}},
	} {
		s := talked("s", "hello book → where", "where Rome → when", "when May → bye")
		observed := replay.Variation{Name: replay.Observed, Completed: true, Turns: make([]replay.VariationTurn, 3)}
		lane := replay.Variation{Name: replay.Candidate, Completed: tc.completed}
		for range tc.turns {
			lane.Turns = append(lane.Turns, replay.VariationTurn{Bot: "yes", Supported: tc.supported})
		}
		pair := &replay.Pair{Mode: replay.Recorded, Variations: []replay.Variation{observed, lane}}
		replay.Measure(s, pair, replay.Measuring{})
		m := pair.Variation(replay.Candidate).Metrics
		if got := (ends{*m.Completed, *m.CompletedOnPath, *m.CompletedOffPath, *m.EndedEarly}); got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}

// TestTailLatency checks that an unknown latency leaves the slowest turns unknown, and that turns which were not taken
// have none.
func TestTailLatency(t *testing.T) {
	known := func(ms ...float64) (turns []replay.VariationTurn) {
		for _, x := range ms {
			turns = append(turns, replay.VariationTurn{LatencyMS: &x})
		}
		return turns
	}
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(200 * (i + 1))
	}
	for name, tc := range map[string]struct {
		turns        []replay.VariationTurn
		slow         time.Duration
		p95, slowest *float64
	}{
		"nearest rank":      {known(hundred...), 0, new(19_000.0), new(0.5)},
		"few turns":         {known(1, 10_000, 10_001), 0, new(10_001.0), new(1. / 3)},
		"another threshold": {known(1, 2, 3, 4), 2 * time.Millisecond, new(4.0), new(0.5)},
		"one unknown":       {append(known(1, 2), replay.VariationTurn{}), 0, nil, nil},
		"one not taken":     {append(known(1, 2), replay.VariationTurn{Untaken: true}), 0, new(2.0), new(0.0)},
		"none":              {nil, 0, nil, nil},
	} {
		pair := &replay.Pair{
			Mode:       replay.Recorded,
			Variations: []replay.Variation{{Name: replay.Observed}, {Name: replay.Candidate, Turns: tc.turns}},
		}
		replay.Measure(talked("s", "hello book → bye"), pair, replay.Measuring{Slow: tc.slow})
		m := pair.Variation(replay.Candidate).Metrics
		if diff := cmp.Diff([]*float64{tc.p95, tc.slowest}, []*float64{m.P95LatencyMS, m.SlowTurns}); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}
