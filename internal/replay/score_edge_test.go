package replay_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

// TestTimesOfReplays proves that times may be written as in events, or be missing, which is not a time of 0 seconds.
func TestTimesOfReplays(t *testing.T) {
	for times, want := range map[[2]string]float64{
		{`"2026-01-01T00:00:01.5Z"`, `"2026-01-01T01:00:03+01:00"`}: 1.5,
		{`"2026-01-01T00:00:01"`, `"2026-01-01 00:00:01.25"`}:       0.25, // Python's isoformat and str
		{`null`, `"2026-01-01T00:00:01Z"`}:                          -1,
		{`null`, `null`}:                                            -1,
	} {
		line := `{"session_id":"s","variant":"baseline","replay_completed":true,"results":[{"state":"a","timestamp":` +
			times[0] + `},{"state":"b","timestamp":` + times[1] + `}]}`
		played, err := replay.ReadPlayed(strings.NewReader(line))
		if err != nil {
			t.Fatal(times, err)
		}
		m := replay.Score(talked("s", "a x → a"), &played[0], replay.Measuring{Similarity: editSimilarity})
		if got := m.CompletionSeconds; got == nil && want >= 0 || got != nil && *got != want ||
			played[0].Turns[1].State != "b" {
			t.Errorf("%v: %v", times, got)
		}
	}
	if _, err := replay.ReadPlayed(
		strings.NewReader(`{"session_id":"s","variant":"v","results":[{"timestamp":"noon"}]}`)); err == nil ||
		!strings.Contains(err.Error(), `"noon"`) {
		t.Error(err)
	}
}

// TestNegativeLatencies proves that a negative latency is unknown: it makes no mean smaller and hides no slow turn.
func TestNegativeLatencies(t *testing.T) {
	line := `{"session_id":"s","variant":"candidate","results":[{"state":"a","latency_ms":1500},{"state":"b","latency_ms":-800},{"state":"c"}]}`
	played, err := replay.ReadPlayed(strings.NewReader(line))
	if err != nil {
		t.Fatal(err)
	}
	m := replay.Score(talked("s", "a x → a", "a y → b", "b z → c"), &played[0],
		replay.Measuring{Similarity: editSimilarity})
	if got := m.AvgLatencyMS; got == nil || *got != 1500 || m.P95LatencyMS != nil || m.SlowTurns != nil {
		t.Errorf("mean %v, p95 %v, slow turns %v", got, m.P95LatencyMS, m.SlowTurns)
	}
	scored, err := replay.ScoreAll(t.Context(), shortTalks(1), played, replay.ScoreOptions{})
	if err != nil ||
		!slices.Contains(scored.Notes(), "1 turn of replays with a negative latency, which counts as unknown") {
		t.Error(scored.Notes(), err)
	}
}

// TestCostsOfReplays proves that replays made elsewhere have a cost where every turn has one.
func TestCostsOfReplays(t *testing.T) {
	for results, want := range map[string]float64{
		`{"state":"a","cost_usd":0.25},{"state":"b","cost_usd":0.5}`: 0.75,
		`{"state":"a","cost_usd":0.25},{"state":"b"}`:                -1,
		`{"state":"a"},{"state":"b"}`:                                -1,
		``:                                                           -1,
	} {
		played, err := replay.ReadPlayed(strings.NewReader(
			`{"session_id":"s","variant":"candidate","results":[` + results + `]}`))
		if err != nil {
			t.Fatal(results, err)
		}
		m := replay.Score(talked("s", "a x → a"), &played[0], replay.Measuring{Similarity: editSimilarity})
		if got := m.CostUSD; got == nil && want >= 0 || got != nil && *got != want {
			t.Errorf("%s: %v", results, got)
		}
	}
	for cost, problem := range map[string]string{"-1": "is negative", "1e308": "is more than 1 billion"} {
		_, err := replay.ReadPlayed(strings.NewReader(
			`{"session_id":"s","variant":"candidate","results":[{},{"cost_usd":` + cost + `}]}`))
		if err == nil || !strings.Contains(err.Error(), "line 1: results[1].cost_usd "+problem) {
			t.Error(err)
		}
	}
}

// TestRoundingIsNoLoss proves that the order in which means are summed decides nothing.
func TestRoundingIsNoLoss(t *testing.T) {
	baseline, candidate := replay.Means{}, replay.Means{}
	values := []float64{0.3, 0.2, 0.1}
	for i := range values {
		baseline.Add(&replay.Metrics{StateProgression: &values[len(values)-1-i]})
		candidate.Add(&replay.Metrics{StateProgression: &values[i]})
	}
	if *baseline[replay.StateProgression].Value == *candidate[replay.StateProgression].Value {
		t.Fatal("these sums were to differ by rounding")
	}
	for _, c := range []replay.Comparison{replay.Compare(baseline, candidate), replay.Compare(candidate, baseline)} {
		if !c.Passed {
			t.Errorf("%+v", c)
		}
	}
}

// TestUnreadablePayload proves that a session has ended, and a message been said, also when some of the payload is not
// what it should be.
func TestUnreadablePayload(t *testing.T) {
	log := `{"event_id":"1","event_type":"message_sent","context":{"session_id":"s","flow_id":"f","current_state":"a"},"payload":{"sender":"user","message_text":7,"state_transition":true,"next_state":"b"},"timestamp":"2026-01-01T00:00:00Z"}
{"event_id":"2","event_type":"flow_completed","context":{"session_id":"s"},"payload":{"data_collected":[]},"timestamp":"2026-01-01T00:01:00Z"}`
	var faults replay.Faults
	for s, err := range replay.Sessions(replay.ReadJSONL(strings.NewReader(log), func(r replay.Reject) { t.Error(r) }),
		0, &faults) {
		if err != nil || !s.Completed || s.Turns() != 1 || s.States(replay.After)[0] != "b" {
			t.Errorf("%+v, %v", s, err)
		}
	}
	if faults.Counts["unreadable_payload"] != 2 {
		t.Error(faults)
	}
}

// TestScoreNamesConcealed proves that a watch without an alarm names what the candidate does not report.
func TestScoreNamesConcealed(t *testing.T) {
	looks := []replay.Interim{{New: 1, Concealed: []string{replay.CostUSD}}, {}}
	scored := &replay.Scored{Flows: map[string]*replay.FlowScore{"f": {Paired: &replay.PairedScore{
		Gate: &replay.Gate{}, Watch: &replay.WatchReport{Interims: looks},
	}}}}
	var b strings.Builder
	if err := scored.Text(&b); err != nil {
		t.Fatal(err)
	}
	want := "watch: no alarm in 2 looks; the candidate does not report cost_usd\n"
	if !strings.Contains(b.String(), want) {
		t.Errorf("%s\nlacks %s", b.String(), want)
	}
}
