package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

func sampleRun(id string, day int) result.Run {
	start := time.Date(2026, 7, day, 9, 30, 0, 123_000, time.UTC)
	return result.Run{
		Schema: result.Schema, ID: id, Version: "1.2.3",
		Command: []string{"run", "suites/ä b.yaml"}, Suites: []string{"billing"}, Targets: []string{"openai:gpt-5"},
		StartedAt: start, EndedAt: start.Add(time.Minute), DurationMS: 60_000,
		Totals: result.Totals{
			Tests: 3, Passed: 2, Failed: 1, MeanScore: new(0.8), Usage: chat.Usage{InputTokens: 7, OutputTokens: 5},
			Failures: map[result.Code]int{result.AssistantContent: 1},
		},
		PassRate: result.PassRate{
			Rate: new(2. / 3), Bounds: &[2]float64{2. / 3, 2. / 3}, Interval: &[2]float64{0.2, 0.9},
		}, ExitReason: "failed", ExitCode: new(1),
	}
}

func put(t *testing.T, b Backend, run result.Run, dir string) {
	t.Helper()
	if err := b.PutRun(context.Background(), run, dir); err != nil {
		t.Fatalf("PutRun(%s): %v", run.ID, err)
	}
}

func wantRun(t *testing.T, b Backend, id, want string) {
	t.Helper()
	got, err := b.Run(context.Background(), id)
	if err != nil || got.ID != want {
		t.Errorf("Run(%q) = %q, %v; want %q", id, got.ID, err, want)
	}
}

func runByID(t *testing.T, open Open) {
	b := opened(t, open)
	run := sampleRun("r1", 1)
	put(t, b, run, "/runs/r1")
	got, err := b.Run(context.Background(), "r1")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(store.RunEntry{Run: run, Dir: "/runs/r1"}, got); d != "" {
		t.Errorf("Run mismatch (-want +got):\n%s", d)
	}
	for _, id := range []string{"r2", "", "R1"} {
		if _, err := b.Run(context.Background(), id); !errors.Is(err, store.ErrNoRun) {
			t.Errorf("Run(%q) error %v, want ErrNoRun", id, err)
		}
	}
}

func runReplaced(t *testing.T, open Open) {
	b := opened(t, open)
	run := sampleRun("r1", 1)
	run.ExitReason = "running"
	put(t, b, run, "/runs/r1")
	run.ExitReason = "passed"
	put(t, b, run, "/moved/r1")
	got, err := b.Runs(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]store.RunEntry{{Run: run, Dir: "/moved/r1"}}, got); d != "" {
		t.Errorf("Runs mismatch (-want +got):\n%s", d)
	}
}

func runByPrefix(t *testing.T, open Open) {
	b := opened(t, open)
	for i, id := range []string{"20260701-abc", "20260701-abd", "20260702-xyz", "20260701"} {
		put(t, b, sampleRun(id, i+1), "/runs/"+id)
	}
	wantRun(t, b, "20260702", "20260702-xyz")
	wantRun(t, b, "20260701-abd", "20260701-abd")
	// A whole id wins over being the beginning of others.
	wantRun(t, b, "20260701", "20260701")
	_, err := b.Run(context.Background(), "20260701-ab")
	ambiguous, ok := errors.AsType[*store.AmbiguousError](err)
	if !ok {
		t.Fatalf("Run of a prefix of two: error %v, want *AmbiguousError", err)
	}
	if d := cmp.Diff([]string{"20260701-abd", "20260701-abc"}, ambiguous.IDs); d != "" {
		t.Errorf("ids mismatch (-want +got):\n%s", d)
	}
}

func runLatest(t *testing.T, open Open) {
	b := opened(t, open)
	if _, err := b.Run(context.Background(), store.Latest); !errors.Is(err, store.ErrNoRun) {
		t.Errorf("latest of nothing: error %v, want ErrNoRun", err)
	}
	put(t, b, sampleRun("b", 2), "/b")
	put(t, b, sampleRun("c", 3), "/c")
	put(t, b, sampleRun("a", 1), "/a")
	wantRun(t, b, store.Latest, "c")
}

func runsNewestFirst(t *testing.T, open Open) {
	b := opened(t, open)
	for i, id := range []string{"b", "d", "a", "c"} {
		put(t, b, sampleRun(id, i+1), "/"+id)
	}
	for _, tc := range []struct {
		limit int
		want  []string
	}{
		{0, []string{"c", "a", "d", "b"}},
		{2, []string{"c", "a"}},
		{9, []string{"c", "a", "d", "b"}},
		{-1, []string{"c", "a", "d", "b"}},
	} {
		entries, err := b.Runs(context.Background(), tc.limit)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range entries {
			got = append(got, e.ID)
		}
		if d := cmp.Diff(tc.want, got); d != "" {
			t.Errorf("Runs(%d) mismatch (-want +got):\n%s", tc.limit, d)
		}
	}
}

func runOddIDs(t *testing.T, open Open) {
	b := opened(t, open)
	ids := []string{"a%", "a_b", "ab", "ö", "x'; DROP TABLE runs; --", "x\u00ff"}
	for i, id := range ids {
		put(t, b, sampleRun(id, i+1), "/"+id)
	}
	for _, id := range ids {
		wantRun(t, b, id, id)
	}
	wantRun(t, b, "a_", "a_b")
	wantRun(t, b, "x'", ids[4])
}
