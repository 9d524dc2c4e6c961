package main

import (
	"encoding/json"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
)

// sameFigures compares the metrics of two replay reports, to the last digit, times and what is named behind the files
// aside.
func sameFigures(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: samefigures REPORT REPORT [METRIC…]")
	}
	read := func(name string) map[string]any {
		var report struct {
			Metrics []map[string]any `json:"metrics"`
		}
		ts.Check(json.Unmarshal([]byte(ts.ReadFile(name)), &report))
		figures := map[string]any{}
		for _, m := range report.Metrics {
			metric, _ := m["metric"].(string)
			if difference, ok := m["difference"].(map[string]any); ok {
				delete(difference, "p_adjusted") // latency belongs to its family when it varies
			}
			figures[metric] = m
		}
		for _, aside := range append(args[2:], "avg_latency_ms", "p95_latency_ms", "completion_time_seconds") {
			delete(figures, aside)
		}
		if len(figures) < 10 {
			ts.Fatalf("%s has %d metrics to compare", name, len(figures))
		}
		return figures
	}
	if d := cmp.Diff(read(args[0]), read(args[1])); d != "" {
		ts.Fatalf("the figures differ (-%s +%s):\n%s", args[0], args[1], d)
	}
}
