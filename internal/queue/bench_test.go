package queue_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"rehearse/internal/fleet"
	"rehearse/internal/fleet/fleettest"
	"rehearse/internal/orchestrator"
	"rehearse/internal/queue"
	"rehearse/internal/queue/queuetest"
	"rehearse/internal/result"
	"rehearse/internal/store"
)

const (
	// places is how many jobs the workers of the benchmark hold at once: one that is sent or settled waits for NATS, not for a processor.
	places = 64
	// stored is how many results are stored together at most, as a leader does.
	stored = 256
)

// BenchmarkEmbedded takes jobs that do nothing through push, pull, return, result in SQLite and acknowledgement, on files.
func BenchmarkEmbedded(b *testing.B) {
	server := fleettest.StartEmbedded(b)
	q := open(b, fleet.ConnConfig{Server: server}, queue.Options{})
	own := fleettest.Connect(b, fleet.ConnConfig{Server: server})
	leader, err := own.Lead(b.Context(), "run")
	if err != nil {
		b.Fatal(err)
	}
	defer leader.Close()
	kept, err := store.Open(b.Context(), filepath.Join(b.TempDir(), "rehearse.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer kept.Close()
	runs := kept.Fleet()
	if _, _, err := runs.CreateRun(b.Context(), store.NewRun{Run: store.Run{ID: "run"}}); err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(b.Context())
	var group sync.WaitGroup
	b.ResetTimer()
	group.Go(func() { work(ctx, own, q, places) })
	group.Go(func() {
		jobs := make([]orchestrator.Job, b.N)
		for n := range jobs {
			jobs[n] = queuetest.Job("run", n)
		}
		if err := q.PushAll(ctx, jobs); err != nil {
			b.Error(err)
		}
	})
	returns := make(chan *fleet.Received, stored)
	group.Go(func() {
		for {
			r, err := leader.Next(ctx)
			if err != nil {
				return
			}
			returns <- r
		}
	})
	for got := 0; got < b.N; {
		batch := []*fleet.Received{<-returns}
		for len(returns) > 0 && len(batch) < stored {
			batch = append(batch, <-returns)
		}
		got += put(b, runs, batch)
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
	stop()
	group.Wait()
}

// put stores the results of returns and settles these. It returns how many were new.
func put(b *testing.B, runs *store.Fleet, batch []*fleet.Received) (added int) {
	b.Helper()
	results := make([]store.NewResult, len(batch))
	for i, r := range batch {
		results[i] = store.NewResult{Worker: r.Worker, Test: &result.Test{
			Schema: result.Schema, RunID: "run", Suite: r.Key.Suite, TestID: r.Key.TestID, Target: r.Key.Target, Trial: r.Key.Trial,
			Verdict: result.Pass, Score: 1, ExecutionStatus: result.OK, StartedAt: time.Unix(1_780_000_000, 0).UTC(),
		}}
	}
	put, err := runs.PutResults(b.Context(), "run", store.Fence{}, results)
	if err != nil {
		b.Fatal(err)
	}
	for i, r := range batch {
		if put[i].New {
			added++
		}
		if err := r.Settle(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	return added
}
