package coordinator_test

import (
	"bytes"
	"context"
	"log/slog"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/fleet/coordinator"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/run/store/servertest"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// lines collects what several servers log.
type lines struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// Two servers on one store fire each time once, and when one is gone the other goes on without a gap.
func TestTwoServersFireOnce(t *testing.T) {
	h := newHouse(t)
	p, err := store.OpenPostgres(t.Context(), servertest.NewPostgres(t).URL().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	h.store = p.Fleet()
	log := &lines{}
	server := func(name string) (*coordinator.Service, func()) {
		s := coordinator.New(coordinator.Config{
			Store: h.store, Conn: h.conn, Queue: h.queue, Dir: filepath.Join(h.dir, name), Owner: name,
			Lease: 3 * time.Second, Setup: wire.Options{NoCommands: true}, Log: slog.New(slog.NewTextHandler(log, nil)),
		})
		return s, h.run(func(ctx context.Context) error { return s.Run(ctx, nil) })
	}
	one, stop := server("one")
	server("two")
	h.work("w1", 4)
	made, err := one.AddSchedule(t.Context(), "often", "@every 1s", "", runspec.Spec{
		Schema: 1, Suites: []string{"s.suite.yaml"}, Files: map[string]runspec.File{
			"s.suite.yaml": {Content: []byte("name: s\ntarget: 'scripted:s.yaml'\ntests: [{id: a, input: x, " +
				"assertions: [{type: contains, value: x}]}]\n")},
			"s.yaml": {Content: []byte("default: {reply: x}\n")},
		},
	}, coordinator.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	until := func(at time.Time) store.Schedule {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
			s, err := h.store.Schedule(t.Context(), "often")
			if err != nil {
				t.Fatal(err)
			}
			if s.NextAt.After(at) {
				return s
			}
		}
		t.Fatalf("it is not fired any more:\n%s", log)
		return store.Schedule{}
	}
	until(made.NextAt.Add(2 * time.Second))
	stop()
	last := until(made.NextAt.Add(5 * time.Second))
	if err := h.store.DeleteSchedule(t.Context(), "often"); err != nil {
		t.Fatal(err)
	}
	// Each time has one outcome, and none was missed.
	seen := map[string]int{}
	for _, found := range regexp.MustCompile(`schedule=often at=(\S+) outcome=(\w+)`).
		FindAllStringSubmatch(log.String(), -1) {
		seen[found[1]]++
		if found[2] == string(store.FiringMissed) {
			t.Errorf("%s was missed", found[1])
		}
	}
	for at := made.NextAt; at.Before(last.NextAt); at = at.Add(time.Second) {
		if n := seen[at.UTC().Format("2006-01-02T15:04:05.000Z")]; n != 1 {
			t.Errorf("%s has %d outcomes", at, n)
		}
	}
	runs, err := h.store.Runs(t.Context(), store.RunFilter{Schedule: "often"}, store.PageOf{})
	if err != nil || len(runs.Items) == 0 || len(runs.Items) > len(seen) {
		t.Fatalf("%d runs of %d times, %v", len(runs.Items), len(seen), err)
	}
	for _, run := range runs.Items {
		if ended := h.ended(run.ID); ended.Status != store.RunCompleted || *ended.ExitCode != 0 {
			t.Errorf("%+v", ended)
		}
	}
}
