package queue_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/run/natsconn"
	"github.com/rehearse-dev/rehearse/internal/run/natsconn/natsconntest"
	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
	"github.com/rehearse-dev/rehearse/internal/run/queue"
	"github.com/rehearse-dev/rehearse/internal/run/queue/queuetest"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

const (
	// places is how many jobs the workers of the benchmark hold at once: one that is sent or settled waits for NATS,
	// not for a processor.
	places = 64
	// stored is how many results are stored together at most; where crowd come at once, more are waited for. A leader
	// does so, too.
	stored, crowd, crowdWait = 256, 3, 4 * time.Millisecond
)

// BenchmarkEmbedded takes jobs that do nothing through push, pull, return, result in SQLite and acknowledgement, on
// files.
func BenchmarkEmbedded(b *testing.B) {
	server := natsconntest.StartEmbedded(b)
	q := open(b, natsconn.ConnConfig{Server: server}, queue.Options{})
	own := natsconntest.Connect(b, natsconn.ConnConfig{Server: server})
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
	returns := make(chan *natsconn.Received, stored)
	group.Go(func() {
		for {
			r, err := leader.Next(ctx)
			if err != nil {
				return
			}
			returns <- r
		}
	})
	batches := 0
	for got := 0; got < b.N; {
		batch := received([]*natsconn.Received{<-returns}, returns)
		if len(batch) >= crowd {
			time.Sleep(crowdWait)
			batch = received(batch, returns)
		}
		got += put(b, runs, batch)
		batches++
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/float64(batches), "results/write")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
	stop()
	group.Wait()
}

// received adds what has come to a batch.
func received(batch []*natsconn.Received, returns <-chan *natsconn.Received) []*natsconn.Received {
	for len(returns) > 0 && len(batch) < stored {
		batch = append(batch, <-returns)
	}
	return batch
}

// put stores the results of returns and settles these. It returns how many were new.
func put(b *testing.B, runs *store.Fleet, batch []*natsconn.Received) (added int) {
	b.Helper()
	results := make([]store.NewResult, len(batch))
	for i, r := range batch {
		results[i] = store.NewResult{Worker: r.Worker, Test: &result.Test{
			Schema: result.Schema, RunID: "run", Suite: r.Key.Suite, TestID: r.Key.TestID, Target: r.Key.Target,
			Trial: r.Key.Trial, Verdict: result.Pass, Score: 1, ExecutionStatus: result.OK,
			StartedAt: time.Unix(1_780_000_000, 0).UTC(),
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
