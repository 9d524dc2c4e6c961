package coordinator_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/fleet/coordinator"
	"github.com/rehearse-dev/rehearse/internal/run/natsconn"
	"github.com/rehearse-dev/rehearse/internal/run/natsconn/natsconntest"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// gated is an agent that answers once its gate is open, and counts what it was asked.
func gated(t *testing.T) (address string, asked *atomic.Int64, open func()) {
	asked = &atomic.Int64{}
	gate := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-gate:
		case <-r.Context().Done():
		}
		fmt.Fprint(w, `{"reply": "echo"}`)
	}))
	t.Cleanup(server.Close)
	return server.URL, asked, func() { close(gate) }
}

// until waits for a condition.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: that takes more than a minute", what)
		}
	}
}

// Conversations that workers have held while nobody led the run are not held again: what was paid is paid once.
func TestTakeOverReturned(t *testing.T) {
	const tests = 24
	h := newHouse(t)
	address, asked, open := gated(t)
	s, stop := h.lead("one")
	h.work("w1", 4)
	run, _, err := s.Submit(t.Context(), shop(tests, address), "", coordinator.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	until(t, "all jobs are queued", func() bool {
		n, err := h.queue.Count(t.Context())
		return err == nil && n.Waiting+n.Running == tests && asked.Load() == 4
	})
	stop()
	open()
	until(t, "all conversations are returned", func() bool {
		returned, err := h.conn.ReturnsOf(t.Context(), run.ID)
		return err == nil && len(returned) == tests
	})
	h.lead("two")
	if run = h.ended(run.ID); run.Status != store.RunCompleted || len(h.results(run.ID)) != tests {
		t.Errorf("%+v", run)
	}
	if n := asked.Load(); n != tests {
		t.Errorf("the agent was asked %d times for %d conversations", n, tests)
	}
}

// What a lost worker had spent is not known: a run with a budget says so.
func TestBudgetOfLostWorkers(t *testing.T) {
	h := newHouse(t)
	address, asked, open := gated(t)
	s, _ := h.lead("one")
	stop := h.work("w1", 4)
	spec := shop(2, address)
	spec.Budget = &runspec.Budget{Tokens: new(1_000_000)}
	run, _, err := s.Submit(t.Context(), spec, "", coordinator.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	until(t, "both conversations are held", func() bool { return asked.Load() == 2 })
	stop()
	open()
	h.work("w2", 4)
	h.ended(run.ID)
	dir, err := s.Files(t.Context(), run.ID)
	if err != nil {
		t.Fatal(err)
	}
	record, err := runlog.ReadRun(dir)
	if said := strings.Join(record.Warnings, "\n"); err != nil ||
		!strings.Contains(said, "attempts that were lost: 2") {
		t.Errorf("the run says %q, %v", said, err)
	}
}

// A server that was suspended and wakes up may receive what is another's for a moment. Whoever has the lease goes on
// with the run.
func TestDisplaced(t *testing.T) {
	h := newHouse(t)
	address, asked, open := gated(t)
	s, _ := h.lead("one")
	h.work("w1", 4)
	run, _, err := s.Submit(t.Context(), shop(4, address), "", coordinator.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the conversations are held", func() bool { return asked.Load() == 4 })
	late, err := h.conn.Lead(t.Context(), run.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	open()
	if run = h.ended(run.ID); run.Status != store.RunCompleted || len(h.results(run.ID)) != 4 || asked.Load() != 4 {
		t.Errorf("%+v, %v, asked %d times", run, run.Error, asked.Load())
	}
}

// A worker that ends while NATS is away does not wait for it: what it held is held again elsewhere.
func TestWorkerEndsWithoutNATS(t *testing.T) {
	p := natsconntest.StartProcess(t)
	h := houseOn(t, natsconn.ConnConfig{URL: p.URL})
	address, asked, open := gated(t)
	s := coordinator.New(coordinator.Config{
		Store: h.store, Conn: h.conn, Queue: h.queue, Dir: filepath.Join(h.dir, "one"), Owner: "one",
		Setup: wire.Options{Submitted: &wire.Submitted{AllowPrivate: true}},
	})
	over := h.run(func(ctx context.Context) error { return s.Run(ctx, nil) })
	end := h.work("w1", 1)
	if _, _, err := s.Submit(t.Context(), shop(1, address), "", coordinator.Caller{}); err != nil {
		t.Fatal(err)
	}
	until(t, "the conversation is held", func() bool { return asked.Load() == 1 })
	p.Kill()
	open()
	for what, stop := range map[string]func(){"worker": end, "server": over} {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			stop()
		}()
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Errorf("the %s does not end", what)
			p.Start() // so that it does
			<-ended
		}
	}
}
