// Package queuetest holds queues to what orchestrator.Queue promises.
package queuetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

const (
	// patience is how long a test waits for what takes milliseconds; moment is how long it waits for what must not
	// come.
	patience = 30 * time.Second
	moment   = 300 * time.Millisecond
)

// Job returns a job of a run whose test has the number n.
func Job(run string, n int) orchestrator.Job {
	return orchestrator.Job{
		Schema: orchestrator.JobSchema, Run: run, Kind: orchestrator.KindSuite,
		Key: result.Key{Suite: "s.yaml", TestID: fmt.Sprintf("test %d", n), Target: "agent"}, Cost: float64(n),
		Payload: []byte(`{"n":1}`),
	}
}

// Pull takes a job, which must come.
func Pull(t *testing.T, q orchestrator.Queue) orchestrator.Delivery {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	d, err := q.Pull(ctx)
	if err != nil {
		t.Fatalf("Pull: %v", err)
	}
	return d
}

// Push adds a job.
func Push(t *testing.T, q orchestrator.Queue, j orchestrator.Job) {
	t.Helper()
	if err := q.Push(t.Context(), j); err != nil {
		t.Fatalf("Push: %v", err)
	}
}

// Empty fails when the queue has a job to give.
func Empty(t *testing.T, q orchestrator.Queue) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), moment)
	defer cancel()
	if d, err := q.Pull(ctx); err == nil {
		t.Fatalf("the queue gives %v, attempt %d; it should be empty", d.Job().Key, d.Attempt())
	} else if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Pull of an empty queue: %v, want the error of its context", err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Run holds queues to the suite. fresh makes an empty queue.
func Run(t *testing.T, fresh func(t *testing.T) orchestrator.Queue) {
	t.Run("a job comes as it was pushed", func(t *testing.T) {
		q, want := fresh(t), Job("run", 1)
		want.Key = result.Key{Suite: "a b/c.yaml", TestID: "*.>", Target: "ä\n", Trial: 3}
		Push(t, q, want)
		d := Pull(t, q)
		got := d.Job()
		if got.Run != want.Run || got.Kind != want.Kind || got.Key != want.Key || got.Cost != want.Cost ||
			string(got.Payload) != string(want.Payload) {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if d.Attempt() != 1 {
			t.Errorf("attempt %d, want 1", d.Attempt())
		}
		must(t, d.Ack(t.Context()))
		Empty(t, q)
	})
	t.Run("jobs come in order", func(t *testing.T) {
		q := fresh(t)
		for n := range 20 {
			Push(t, q, Job("run", n))
		}
		for n := range 20 {
			d := Pull(t, q)
			if want := Job("run", n).Key; d.Job().Key != want {
				t.Fatalf("got %v, want %v", d.Job().Key, want)
			}
			must(t, d.Ack(t.Context()))
		}
	})
	t.Run("a job that is queued or held is not added again", func(t *testing.T) { pushedTwice(t, fresh(t)) })
	t.Run("a job given back comes again", func(t *testing.T) {
		q := fresh(t)
		Push(t, q, Job("run", 1))
		for n := 1; n <= 3; n++ {
			d := Pull(t, q)
			if d.Attempt() != n {
				t.Fatalf("attempt %d, want %d", d.Attempt(), n)
			}
			must(t, d.Retry(t.Context(), 0))
		}
	})
	t.Run("a job given back for later comes later", func(t *testing.T) {
		q := fresh(t)
		Push(t, q, Job("run", 1))
		began := time.Now()
		must(t, Pull(t, q).Retry(t.Context(), 200*time.Millisecond))
		must(t, Pull(t, q).Ack(t.Context()))
		if took := time.Since(began); took < 190*time.Millisecond {
			t.Errorf("it came after %s, want 200 ms", took)
		}
	})
	t.Run("a rejected job does not come again", func(t *testing.T) {
		q := fresh(t)
		Push(t, q, Job("run", 1))
		must(t, Pull(t, q).Reject(t.Context(), "its suite is gone"))
		Empty(t, q)
		Push(t, q, Job("run", 1))
		must(t, Pull(t, q).Ack(t.Context()))
	})
	t.Run("each job goes to one worker", func(t *testing.T) { shared(t, fresh(t)) })
	t.Run("a pull that was given up takes no job", func(t *testing.T) {
		q := fresh(t)
		Empty(t, q)
		Push(t, q, Job("run", 1))
		if d := Pull(t, q); d.Attempt() != 1 {
			t.Errorf("attempt %d, want 1", d.Attempt())
		}
	})
}

func pushedTwice(t *testing.T, q orchestrator.Queue) {
	Push(t, q, Job("run", 1))
	Push(t, q, Job("run", 1))
	other := Job("run", 1)
	other.Kind = orchestrator.KindReplay
	Push(t, q, other)
	Push(t, q, Job("run 2", 1))
	held := Pull(t, q)
	Push(t, q, Job("run", 1))
	for range 2 {
		must(t, Pull(t, q).Ack(t.Context()))
	}
	Empty(t, q)
	must(t, held.Extend(t.Context()))
	must(t, held.Ack(t.Context()))
	// A job that has left the queue can be put in again. The word of the acknowledgement may take a moment.
	for deadline := time.Now().Add(patience); ; {
		Push(t, q, Job("run", 1))
		ctx, cancel := context.WithTimeout(t.Context(), moment)
		d, err := q.Pull(ctx)
		cancel()
		if err == nil {
			must(t, d.Ack(t.Context()))
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("a job that was acknowledged cannot be pushed again")
		}
	}
}

func shared(t *testing.T, q orchestrator.Queue) {
	const jobs, workers = 200, 8
	go func() {
		for n := range jobs {
			_ = q.Push(t.Context(), Job("run", n))
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var mu sync.Mutex
	got := map[result.Key]int{}
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for {
				d, err := q.Pull(ctx)
				if err != nil {
					return
				}
				mu.Lock()
				got[d.Job().Key]++
				if len(got) == jobs {
					cancel()
				}
				mu.Unlock()
				_ = d.Ack(context.WithoutCancel(ctx))
			}
		})
	}
	group.Wait()
	if len(got) != jobs {
		t.Errorf("%d of %d jobs came", len(got), jobs)
	}
	for k, n := range got {
		if n != 1 {
			t.Errorf("%v came %d times", k, n)
		}
	}
}
