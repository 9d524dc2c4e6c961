package store_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/run/store/servertest"
	"github.com/rehearse-dev/rehearse/internal/run/store/storetest"
)

// fresh opens a new store, which ends with the test.
func fresh(t testing.TB) *store.Store {
	t.Helper()
	s := open(t, newFile(t))
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

func TestVariants(t *testing.T) {
	storetest.RunVariants(t, func(t *testing.T) *store.Variants { return fresh(t).Variants() })
}

func TestReplayRuns(t *testing.T) {
	storetest.RunReplays(t, func(t *testing.T) *store.ReplayRuns { return fresh(t).ReplayRuns() })
}

func TestReplaysAfterClose(t *testing.T) {
	path := newFile(t)
	s := open(t, path)
	s.Close()
	_, one := s.Variants().Variant(t.Context(), "v")
	_, two := s.ReplayRuns().Sweep(t.Context(), time.Now())
	for want, err := range map[string]error{
		"read variants from store " + path + ": it is closed":        one,
		"end silent replay runs in store " + path + ": it is closed": two,
		"write a prompt version to store " + path + ": it is closed": s.Variants().PutPrompt(t.Context(),
			replay.PromptVersion{ID: "p"}),
		"write replayed sessions to store " + path + ": it is closed": s.ReplayRuns().
			PutOutcomes(t.Context(), "r", nil, time.Now()),
		"write a replay run to store " + path + ": it is closed": s.ReplayRuns().PutRun(t.Context(), replay.Run{
			ID: "r", Status: replay.Running,
		}),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// replayed are the outcomes of so many sessions, of 6 KB each.
func replayed(n int) []replay.Outcome {
	all := make([]replay.Outcome, n)
	for i := range all {
		detail := map[string]any{"session_id": i, "turns": []any{}}
		var turns []any
		for turn := range 20 {
			turns = append(turns, map[string]any{
				"number": turn,
				"user":   fmt.Sprintf("I am looking for a place to eat in the city, number %d of %d please.", turn, i),
				"bot":    "There are several. Which part of the town do you prefer, and how much may it cost?",
				"state":  fmt.Sprint("state_", turn), "latency_ms": i * 7919 % 3000, "supported": turn%3 > 0,
			})
		}
		detail["turns"] = turns
		all[i] = replay.Outcome{
			SessionID: fmt.Sprintf("session-%08x", uint32(i)*2654435761),
			Metrics:   json.RawMessage(`{"baseline":{"completion_match":1},"candidate":{"completion_match":0.5}}`),
		}
		all[i].Detail, _ = json.Marshal(detail)
		all[i].Detail = append(all[i].Detail[:len(all[i].Detail)-1],
			fmt.Sprintf(`,"alignment":"%0*d"}`, max(0, 6000-len(all[i].Detail)), i)...)
	}
	return all
}

const (
	// sessionsInBench is the size of a replay that has to be written in a few seconds, in calls of outcomesPerCall.
	sessionsInBench = 23_845
	outcomesPerCall = 200
)

func BenchmarkPutOutcomes(b *testing.B) {
	benchmarkOutcomes(b, func() *store.ReplayRuns { return fresh(b).ReplayRuns() })
}

func BenchmarkPostgresPutOutcomes(b *testing.B) {
	server := servertest.NewPostgres(b, "-c", "fsync=on")
	benchmarkOutcomes(b, func() *store.ReplayRuns {
		return openPostgres(b, server.Database(b)).ReplayRuns()
	})
}

func benchmarkOutcomes(b *testing.B, open func() *store.ReplayRuns) {
	all := replayed(sessionsInBench)
	var read time.Duration
	for b.Loop() {
		runs := open()
		if err := runs.PutRun(b.Context(), replay.Run{ID: "r", Status: replay.Running}); err != nil {
			b.Fatal(err)
		}
		for from := 0; from < len(all); from += outcomesPerCall {
			if err := runs.PutOutcomes(b.Context(), "r", all[from:min(from+outcomesPerCall, len(all))],
				time.Now()); err != nil {
				b.Fatal(err)
			}
		}
		b.StopTimer()
		start, n := time.Now(), 0
		for _, err := range runs.Outcomes(b.Context(), "r") {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		read += time.Since(start)
		if n != len(all) {
			b.Fatal(n)
		}
		b.StartTimer()
	}
	b.ReportMetric(read.Seconds()/float64(b.N), "s-reading")
	b.ReportMetric(float64(len(all[0].Detail)), "bytes/session")
}
