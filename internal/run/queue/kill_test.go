package queue_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/run/natsconn"
	"github.com/rehearse-dev/rehearse/internal/run/natsconn/natsconntest"
	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
	"github.com/rehearse-dev/rehearse/internal/run/queue"
	"github.com/rehearse-dev/rehearse/internal/run/queue/queuetest"
)

// work holds conversations without a word until ctx ends.
func work(ctx context.Context, conn *natsconn.Conn, q orchestrator.Queue, places int) {
	var group sync.WaitGroup
	for range places {
		group.Go(func() {
			for {
				d, err := q.Pull(ctx)
				if err != nil {
					return
				}
				j := d.Job()
				record, err := json.Marshal(map[string]any{"test_id": j.Key.TestID})
				if err == nil {
					err = conn.Send(ctx, natsconn.Return{
						Run: j.Run, Kind: j.Kind, Key: j.Key, Attempt: d.Attempt(), Worker: "w", Record: record,
					})
				}
				if err == nil {
					_ = d.Ack(ctx)
				}
			}
		})
	}
	group.Wait()
}

// TestKilledServer: NATS is killed again and again in mid-work, once with all that it had on disk. Each job has one
// result in the end.
func TestKilledServer(t *testing.T) {
	const jobs = 3000
	p := natsconntest.StartProcess(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*natsconntest.Patience)
	defer cancel()
	conn := natsconntest.Connect(t, natsconn.ConnConfig{URL: p.URL})
	leader, err := conn.Lead(ctx, "run")
	if err != nil {
		t.Fatal(err)
	}
	defer leader.Close()
	q := open(t, natsconn.ConnConfig{URL: p.URL}, queue.Options{AckWait: 2 * time.Second})
	all := make([]orchestrator.Job, jobs)
	for n := range all {
		all[n] = queuetest.Job("run", n)
	}
	working, stop := context.WithCancel(ctx)
	defer stop()
	var group sync.WaitGroup
	for range 2 {
		own := natsconntest.Connect(t, natsconn.ConnConfig{URL: p.URL})
		wq := open(t, natsconn.ConnConfig{URL: p.URL}, queue.Options{})
		group.Go(func() { work(working, own, wq, 4) })
	}
	group.Go(func() {
		for _, j := range all {
			if err := q.Push(working, j); err != nil {
				return
			}
		}
	})
	var mu sync.Mutex
	stored := map[string]bool{} // what the leader has, by test
	group.Go(func() { again(working, q, all, &mu, stored) })
	kills := map[int]bool{jobs / 5: false, 2 * jobs / 5: true, 4 * jobs / 5: false}
	held := 0
	for held < jobs {
		r, err := leader.Next(ctx)
		if err != nil {
			t.Fatalf("after %d of %d: %v", held, jobs, err)
		}
		mu.Lock()
		if !stored[r.Key.TestID] {
			stored[r.Key.TestID] = true
			held++
		}
		n := held
		mu.Unlock()
		if r.Fault != "" {
			t.Errorf("%s: %s", r.Key.TestID, r.Fault)
		}
		if err := r.Settle(ctx); err != nil {
			t.Fatal(err)
		}
		if wipe, due := kills[n]; due {
			delete(kills, n)
			p.Kill()
			if wipe {
				p.Wipe()
			}
			p.Start()
		}
	}
	stop()
	group.Wait()
	for _, j := range all {
		if !stored[j.Key.TestID] {
			t.Errorf("%s has no result", j.Key.TestID)
		}
	}
}

// again puts in what NATS has lost, as a leader does.
func again(ctx context.Context, q *queue.JetStream, all []orchestrator.Job, mu *sync.Mutex, stored map[string]bool) {
	for natsconn.Pause(ctx, time.Second) == nil {
		missing, err := q.Missing(ctx, "run", all)
		if err != nil {
			continue
		}
		for _, j := range missing {
			mu.Lock()
			known := stored[j.Key.TestID]
			mu.Unlock()
			if !known {
				_ = q.Push(ctx, j)
			}
		}
	}
}
