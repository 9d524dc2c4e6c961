package replay_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rehearse/internal/chat"
	"rehearse/internal/replay"
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
		{"one wrong, one missing", map[string]any{"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0}, map[string]any{"a": 1.0, "b": 2.0, "c": 9.0}, &replay.DataMatch{Equal: 2, Wrong: 1, Missing: 1}, 0.5},
		{"all missing", map[string]any{"a": 1.0, "b": 2.0}, nil, &replay.DataMatch{Missing: 2}, 0},
		{"one of its own", map[string]any{"a": 1.0}, map[string]any{"a": 1.0, "b": 2.0}, &replay.DataMatch{Equal: 1, Extra: 1}, 1},
		{"nothing was collected", nil, map[string]any{"a": 1.0}, nil, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := talked("s", "hello book → bye")
			s.Data = tc.was
			pair := &replay.Pair{Mode: replay.Recorded, Lanes: []replay.Lane{{Name: replay.Observed}, {Name: replay.Candidate, Data: tc.is}}}
			replay.Measure(s, pair, replay.After)
			m := pair.Lane(replay.Candidate).Metrics
			if diff := cmp.Diff(tc.want, m.DataMatch); diff != "" {
				t.Errorf("data (-want +got)\n%s", diff)
			}
			if tc.want == nil && m.NormalAccuracy != nil || tc.want != nil && *m.NormalAccuracy != tc.share {
				t.Errorf("normalised accuracy %v, want %v", m.NormalAccuracy, tc.share)
			}
		})
	}
}

// TestThinkTime holds that a user thinks from an answer to the next message. Messages are "u" and "b" with the second at which they came.
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
		s, pair := &replay.Session{ID: "s"}, &replay.Pair{Mode: replay.Recorded, Lanes: []replay.Lane{{Name: replay.Observed}, {Name: replay.Candidate}}}
		for m := range strings.FieldsSeq(messages) {
			at, err := strconv.ParseFloat(m[1:], 64)
			if err != nil {
				t.Fatal(err)
			}
			s.Messages = append(s.Messages, replay.Said{User: m[0] == 'u', At: time.Unix(0, 0).Add(time.Duration(at * float64(time.Second)))})
		}
		replay.Measure(s, pair, replay.After)
		if got := pair.Lane(replay.Candidate).Metrics.UserSeconds; got == nil && want >= 0 || got != nil && *got != want {
			t.Errorf("%q: %v, want %v", messages, got, want)
		}
	}
}

// TestLaneSums holds that a lane has taken what all of its turns took, and been on the path for as many as were.
func TestLaneSums(t *testing.T) {
	s := talked("s", "hello book → where", "where Rome → when", "when May → bye")
	observed := replay.Lane{Name: replay.Observed, Turns: []replay.LaneTurn{{Supported: true}, {Supported: true}, {Supported: true}}}
	pair := &replay.Pair{Mode: replay.Recorded, Lanes: []replay.Lane{observed, {Name: replay.Candidate, Turns: []replay.LaneTurn{
		{State: "where", Supported: true, Tokens: 3, Cost: chat.Cost{USD: 0.25}, LatencyMS: new(10.0)},
		{State: "when", Supported: true, Tokens: 4, Cost: chat.Cost{USD: 0.5}, LatencyMS: new(30.0)},
		{State: "when", Tokens: 5, Cost: chat.Cost{USD: 1}, LatencyMS: new(80.0)},
	}}}}
	replay.Measure(s, pair, replay.After)
	m := pair.Lane(replay.Candidate).Metrics
	got := []float64{*m.Tokens, *m.CostUSD, *m.SupportCoverage, *m.AvgLatencyMS, float64(m.OnSupport.Turns), *m.OnSupport.AvgLatencyMS, *m.OnSupport.StateProgression}
	if want := []float64{12, 1.75, 2. / 3, 40, 2, 20, 1}; !slices.Equal(got, want) {
		t.Errorf("tokens, cost, coverage, latency, and turns, latency, states on support: %v, want %v", got, want)
	}
}

// TestEndedEarlySimulated: with a simulated user, a lane ends early that completes before the user gave what the real one gave.
func TestEndedEarlySimulated(t *testing.T) {
	for _, tc := range []struct {
		name string
		data map[string]any
		said []string
		want float64
	}{
		{"all that was given", map[string]any{"city": "Rome"}, []string{"book", "to ROME"}, 0},
		{"not all", map[string]any{"city": "Rome", "month": "May"}, []string{"book", "Rome"}, 1},
		{"what the agent looked up", map[string]any{"city": "Rome", "code": 639431.0, "none": nil}, []string{"book", "Rome"}, 0},
		{"nothing of it was the user's, messages left", map[string]any{"code": 639431.0}, []string{"book"}, 1},
		{"nothing of it was the user's, all said", map[string]any{"code": 639431.0}, []string{"May", "Rome", "book"}, 0},
		{"no data, messages left", nil, []string{"book", "Rome"}, 1},
		{"no data, all said", nil, []string{"book", "Rome", "May"}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := talked("s", "hello book → where", "where Rome → when", "when May → bye")
			s.Data = tc.data
			observed, lane := replay.Lane{Name: replay.Observed, Completed: true}, replay.Lane{Name: replay.Candidate, Completed: true}
			for _, text := range []string{"book", "Rome", "May"} {
				observed.Turns = append(observed.Turns, replay.LaneTurn{User: text})
			}
			for _, text := range tc.said {
				lane.Turns = append(lane.Turns, replay.LaneTurn{User: text, Bot: "yes"})
			}
			pair := &replay.Pair{Mode: replay.Simulated, Lanes: []replay.Lane{observed, lane}}
			replay.Measure(s, pair, replay.After)
			if got := pair.Lane(replay.Candidate).Metrics.EndedEarly; got == nil || *got != tc.want {
				t.Errorf("ended early %v, want %g", got, tc.want)
			}
		})
	}
}
