package replay_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

// memory keeps events in the process.
type memory []replay.Event

func (m *memory) Put(_ context.Context, events iter.Seq2[replay.Event, error]) (added, sessions int, err error) {
	known, of := map[string]bool{}, map[string]bool{}
	for e, err := range events {
		if err != nil {
			return added, len(of), err
		}
		if !known[e.ID] {
			known[e.ID], of[e.SessionID] = true, true
			*m = append(*m, e)
			added++
		}
	}
	slices.SortFunc(*m, func(a, b replay.Event) int {
		if c := strings.Compare(a.SessionID, b.SessionID); c != 0 {
			return c
		}
		if c := a.Time.Compare(b.Time); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return added, len(of), nil
}

func (m *memory) Each(_ context.Context, f replay.Filter) iter.Seq2[replay.Event, error] {
	return func(yield func(replay.Event, error) bool) {
		for _, e := range *m {
			if (f.FlowID == "" || e.FlowID == f.FlowID) && (len(f.Types) == 0 || slices.Contains(f.Types, e.Type)) &&
				!yield(e, nil) {
				return
			}
		}
	}
}

// editSimilarity is 1 − Levenshtein / longer, as plainly as it can be written.
func editSimilarity(a, b []string) float64 {
	if len(a)+len(b) == 0 {
		return 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		before := row[0]
		row[0] = i + 1
		for j := range b {
			cost := before
			if a[i] != b[j] {
				cost++
			}
			before = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return 1 - float64(row[len(b)])/float64(max(len(a), len(b)))
}

func unpacked(t *testing.T, parts ...string) *gzip.Reader {
	t.Helper()
	f, err := os.Open(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// The means over replays of real conversations, as they were computed elsewhere. They are the hotel bookings of the
// STAR corpus (MIT, RasaHQ); REHEARSE_SHARED_DATA may name a folder with all 3,346 conversations and 1,550 replays.
func TestScoreAgainstExpectedValues(t *testing.T) {
	events, log := &memory{}, filepath.Join("testdata", "star", "events.jsonl.gz")
	expected := filepath.Join("testdata", "star")
	if data := os.Getenv("REHEARSE_SHARED_DATA"); data != "" {
		log, expected = filepath.Join(data, "star", "events.jsonl.gz"), filepath.Join(data, "expected", "replay")
	}
	if _, sessions, err := events.Put(t.Context(), replay.ReadJSONL(unpacked(t, log), func(r replay.Reject) {
		t.Error(r)
	})); err != nil || sessions < 132 {
		t.Fatal(sessions, err)
	}
	played, err := replay.ReadPlayed(unpacked(t, expected, "replays.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	var aggregate map[string]map[string]json.RawMessage
	text, err := os.ReadFile(filepath.Join(expected, "aggregate.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &aggregate); err != nil {
		t.Fatal(err)
	}
	for side, suffix := range map[replay.Side]string{replay.After: "post", replay.Before: "pre"} {
		got, err := replay.ScoreAll(t.Context(), events, played, replay.ScoreOptions{
			MinTurns: 3, Measuring: replay.Measuring{Side: side, Similarity: editSimilarity},
			Rules: replay.DefaultRules(),
		})
		if err != nil || got.Missing+got.Unpaired > 0 || len(got.Faults.Counts) > 0 {
			t.Fatal(got, err)
		}
		for flow, want := range aggregate {
			for _, variant := range []string{replay.Baseline, replay.Candidate} {
				var means map[string]struct {
					Value float64
					N     int
				}
				if err := json.Unmarshal(want[variant], &means); err != nil {
					t.Fatal(err)
				}
				for _, name := range replay.MetricNames {
					key := name
					if name == replay.StateProgression {
						key += "_lev_" + suffix
					}
					m := got.Flows[flow].Variants[variant][name]
					if m.Value == nil || math.Abs(*m.Value-means[key].Value) > 1e-9 || m.N != means[key].N {
						t.Errorf("%s %s %s: %v over %d, want %v over %d", flow, variant, key, *m.Value, m.N,
							means[key].Value, means[key].N)
					}
				}
			}
			var comparison struct {
				Tests map[string]bool
				Ratio float64 `json:"passed_ratio"`
				Pass  bool    `json:"passed"`
				Hard  bool    `json:"hard_requirement_completion_match>=0.80"`
			}
			if err := json.Unmarshal(want["comparison_lev_"+suffix], &comparison); err != nil {
				t.Fatal(err)
			}
			c := got.Flows[flow].Comparison
			if c.PassedRatio != comparison.Ratio || c.Passed != comparison.Pass || c.Hard != comparison.Hard {
				t.Errorf("%s: %+v, want %+v", flow, c, comparison)
			}
			for name, passed := range comparison.Tests {
				if got, there := c.Tests[name]; got != passed || !there {
					t.Errorf("%s %s: %v, want %v", flow, name, got, passed)
				}
			}
		}
	}
}
