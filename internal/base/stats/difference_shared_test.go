package stats_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
)

// TestReplays compares 1,550 recorded replays of conversations of STAR (RasaHQ/STAR @ 3058975, MIT): the means of both
// lanes must be those that were computed independently.
func TestReplays(t *testing.T) {
	folder := filepath.Join("testdata", "replays")
	criteria := map[string]stats.Criterion{ // the margins of S4
		"completion_match":                 {PassFail: true},
		"turn_count_ratio":                 {LowerIsBetter: true, Margin: stats.Margin{Relative: 0.1}},
		"state_progression_match_lev_post": {},
		"avg_latency_ms":                   {LowerIsBetter: true, Margin: stats.Margin{Relative: 0.2}},
	}
	type aggregate map[string]struct{ Value float64 }
	var expected map[string]struct{ Baseline, Candidate aggregate }
	data, err := os.ReadFile(filepath.Join(folder, "aggregate.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &expected); err != nil {
		t.Fatal(err)
	}
	sessions := replays(t, filepath.Join(folder, "per_session_metrics.jsonl.gz"))
	for flow, want := range expected {
		for metric, c := range criteria {
			var p stats.Pairs
			for session, of := range sessions[flow] {
				p.Add(session, of["baseline"][metric], of["candidate"][metric])
			}
			d := p.Compare(c)
			if math.Abs(d.Baseline-want.Baseline[metric].Value) > 1e-9 ||
				math.Abs(d.Candidate-want.Candidate[metric].Value) > 1e-9 {
				t.Errorf("%s, %s: %v and %v, want %+v", flow, metric, d.Baseline, d.Candidate, want)
			}
			t.Logf("%-22s %-33s %8.3f %8.3f  %+.3f [%+.3f, %+.3f] %-9s %s, detectable %.3f",
				flow, metric, d.Baseline, d.Candidate, d.Mean, d.Interval[0], d.Interval[1], d.Method, d.Verdict,
				d.Detectable)
		}
	}
}

// replays reads metrics by flow, session and lane.
func replays(t *testing.T, path string) map[string]map[string]map[string]map[string]float64 {
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]map[string]map[string]map[string]float64{}
	for lines := bufio.NewScanner(unzipped); lines.Scan(); {
		var row struct {
			Session string `json:"session_id"`
			Flow    string `json:"flow_id"`
			Variant string `json:"variant"`
		}
		var fields map[string]any
		if json.Unmarshal(lines.Bytes(), &row) != nil || json.Unmarshal(lines.Bytes(), &fields) != nil {
			t.Fatalf("bad line %s", lines.Text())
		}
		if all[row.Flow] == nil {
			all[row.Flow] = map[string]map[string]map[string]float64{}
		}
		if all[row.Flow][row.Session] == nil {
			all[row.Flow][row.Session] = map[string]map[string]float64{}
		}
		metrics := map[string]float64{}
		for name, value := range fields {
			if x, ok := value.(float64); ok {
				metrics[name] = x
			}
		}
		all[row.Flow][row.Session][row.Variant] = metrics
	}
	return all
}
