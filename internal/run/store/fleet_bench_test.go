package store_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/run/store/servertest"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// sizedResults makes results whose records have about 2 kB.
func sizedResults(from, n int) []store.NewResult {
	results := make([]store.NewResult, n)
	for i := range results {
		id := fmt.Sprintf("refund-%05d", from+i)
		r := &result.Test{
			Schema: 1, RunID: "20260714-093000-k3x9", Suite: "shop", TestID: id, Target: "agent", Verdict: result.Pass,
			Score: 1, Threshold: 0.8, ExecutionStatus: result.OK, DurationMS: 1234.5,
			StartedAt: time.Unix(1_780_000_000, 0).UTC(),
		}
		if i%10 == 0 {
			r.Verdict, r.Failures = result.Fail, []result.Failure{{
				Code: result.AssistantContent, Source: "structured", Turn: 1, Message: "no refund for " + id,
			}}
		}
		for turn := range 2 {
			said := fmt.Sprintf("I would like to have my money back for order %s, please, turn %d.", id, turn)
			reply := strings.Repeat(fmt.Sprintf("Order %s-%d can be refunded. ", id, turn), 5)
			r.Output = append(r.Output, chat.Message{Role: "user", Content: chat.Content{Text: said}}, chat.Message{
				Role: "assistant", Content: chat.Content{Text: reply},
			})
			r.Turns = append(r.Turns, result.Turn{
				Index: turn + 1, Input: chat.Content{Text: said}, Output: reply, LatencyMS: 600, Attempts: 1,
			})
			r.Scores = append(r.Scores, result.Score{
				Name: fmt.Sprint("turn-", turn+1), Type: "turn", Score: 1, Verdict: result.Pass,
				Assertions: []result.Assertion{{Text: "contains refunded", Passed: true, Grader: "contains"}},
			})
		}
		results[i] = store.NewResult{Test: r, Worker: "worker-1"}
	}
	return results
}

// fillRun makes a run of n results.
func fillRun(b *testing.B, f *store.Fleet, n int) {
	b.Helper()
	if _, _, err := f.CreateRun(b.Context(), store.NewRun{Run: store.Run{ID: "r"}}); err != nil {
		b.Fatal(err)
	}
	for from := 0; from < n; from += 500 {
		if _, err := f.PutResults(b.Context(), "r", store.Fence{}, sizedResults(from, 500)); err != nil {
			b.Fatal(err)
		}
	}
}

// benchmarkFleets runs a benchmark on a file and on a database.
func benchmarkFleets(b *testing.B, bench func(b *testing.B, f *store.Fleet)) {
	b.Run("sqlite", func(b *testing.B) {
		s := open(b, filepath.Join(b.TempDir(), "rehearse.db"))
		defer s.Close()
		bench(b, s.Fleet())
	})
	b.Run("postgres", func(b *testing.B) {
		bench(b, openPostgres(b, servertest.NewPostgres(b, "-c", "fsync=on").Database(b)).Fleet())
	})
}

// BenchmarkPutResults stores 10,000 results of 2 kB in batches of 500.
func BenchmarkPutResults(b *testing.B) {
	const results, batch = 10_000, 500
	benchmarkFleets(b, func(b *testing.B, f *store.Fleet) {
		for n := 0; b.Loop(); n++ {
			b.StopTimer()
			run := fmt.Sprint("r", n)
			if _, _, err := f.CreateRun(b.Context(), store.NewRun{Run: store.Run{ID: run}}); err != nil {
				b.Fatal(err)
			}
			all := sizedResults(0, results)
			b.StartTimer()
			for from := 0; from < results; from += batch {
				if _, err := f.PutResults(b.Context(), run, store.Fence{}, all[from:from+batch]); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(results*float64(b.N)/b.Elapsed().Seconds(), "results/s")
	})
}

// BenchmarkResultPages reads pages of 100 of 100,000 results.
func BenchmarkResultPages(b *testing.B) {
	benchmarkFleets(b, func(b *testing.B, f *store.Fleet) {
		fillRun(b, f, 100_000)
		last := store.PageOf{}
		for _, tc := range []struct {
			name   string
			filter store.ResultFilter
		}{
			{"all", store.ResultFilter{}},
			{"verdict", store.ResultFilter{Verdict: result.Fail}},
			{"rare verdict", store.ResultFilter{Verdict: result.Error}},
			{"code", store.ResultFilter{Code: result.Timeout}},
			{"test", store.ResultFilter{TestID: "refund-99999"}},
			{"target and suite", store.ResultFilter{Suite: "shop", Target: "none"}},
			{"text", store.ResultFilter{Text: "money back"}},
			{"rare text", store.ResultFilter{Text: "refund-99999"}},
			{"absent text", store.ResultFilter{Text: "zebra"}},
		} {
			b.Run(tc.name, func(b *testing.B) {
				for b.Loop() {
					if _, err := f.Results(b.Context(), "r", tc.filter, last); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	})
}
