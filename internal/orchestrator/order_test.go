package orchestrator_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"rehearse/internal/orchestrator"
	"rehearse/internal/queue"
	"rehearse/internal/result"
)

// costs yields tests with their costs.
func costs(of ...float64) iter.Seq2[orchestrator.Unit, error] {
	return func(yield func(orchestrator.Unit, error) bool) {
		for i, cost := range of {
			if !yield(orchestrator.Unit{Test: test(fmt.Sprintf("%c%g", 'a'+i, cost)), Target: "t", Cost: cost}, nil) {
				return
			}
		}
	}
}

// pushes notes the order in which jobs are pushed.
type pushes struct {
	*queue.Memory
	mu  sync.Mutex
	ids []string
}

func (p *pushes) Push(ctx context.Context, j orchestrator.Job) error {
	p.mu.Lock()
	p.ids = append(p.ids, j.Key.TestID)
	p.mu.Unlock()
	return p.Memory.Push(ctx, j)
}

// The longest conversations begin first, equal ones and those of a single worker as they are written.
func TestLongestFirst(t *testing.T) {
	for workers, want := range map[int]string{2: "d9 b4 a1 c1 e1", 1: "a1 b4 c1 d9 e1"} {
		l, q := &ledger{}, &pushes{Memory: queue.NewMemory(workers)}
		o := made(t, orchestrator.Config{Workers: workers, Queue: q, Results: l, Hold: verdicts(nil)})
		if _, err := o.Run(t.Context(), orchestrator.Plan{Tests: costs(1, 4, 1, 9, 1)}, nil); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, strings.Join(q.ids, " ")); diff != "" {
			t.Errorf("%d workers: %s", workers, diff)
		}
	}
}

// elsewhere holds jobs as workers of other processes do: in any order, twice, or after losing them once.
type elsewhere struct {
	*pushes
	returns chan orchestrator.Return
	settled int
}

func (e *elsewhere) Push(ctx context.Context, j orchestrator.Job) error {
	lost := !slices.Contains(e.ids, j.Key.TestID) && strings.HasPrefix(j.Key.TestID, "a")
	e.ids = append(e.ids, j.Key.TestID)
	if lost {
		e.returns <- orchestrator.Return{Key: j.Key, Lost: true}
		return nil
	}
	if strings.HasPrefix(j.Key.TestID, "b") {
		e.returns <- orchestrator.Return{Key: j.Key, Fault: "5 deliveries came to nothing"}
		return nil
	}
	for range 2 {
		e.returns <- e.held(j.Key)
	}
	return nil
}

func (e *elsewhere) held(k result.Key) orchestrator.Return {
	return orchestrator.Return{
		Key: k, Record: &result.Test{TestID: k.TestID, Verdict: result.Pass, Score: 1}, Settle: func() { e.settled++ },
	}
}

func (e *elsewhere) Next(ctx context.Context) (orchestrator.Return, error) {
	select {
	case r := <-e.returns:
		return r, nil
	case <-ctx.Done():
		return orchestrator.Return{}, ctx.Err()
	}
}

// Conversations that are held elsewhere have one record each, whatever becomes of their jobs.
func TestElsewhere(t *testing.T) {
	l, e := &ledger{}, &elsewhere{pushes: &pushes{}, returns: make(chan orchestrator.Return, 100)}
	e.returns <- e.held(result.Key{TestID: "d1", Target: "t"}) // what an earlier leader has pushed
	o := made(t, orchestrator.Config{Workers: 2, Queue: e, Returns: e, Results: l})
	totals, err := o.Run(t.Context(), orchestrator.Plan{Tests: costs(1, 1, 1, 1)}, nil)
	if err != nil || totals.Tests != 4 || totals.Passed != 3 || totals.Errors != 1 {
		t.Errorf("%v: %+v", err, totals)
	}
	got := l.brief()
	slices.Sort(got)
	if diff := cmp.Diff([]string{"a1 pass", "b1 error", "c1 pass", "d1 pass"}, got); diff != "" {
		t.Error(diff)
	}
	if slices.Contains(e.ids, "d1") {
		t.Error("what was returned early is held again")
	}
}

// crowded returns conversations in groups of ten, a millisecond apart, once all jobs are pushed.
type crowded struct {
	*elsewhere
	jobs int
}

func (c *crowded) Push(_ context.Context, j orchestrator.Job) error {
	if c.ids = append(c.ids, j.Key.TestID); len(c.ids) < c.jobs {
		return nil
	}
	go func() {
		for group := range slices.Chunk(c.ids, 10) {
			time.Sleep(time.Millisecond)
			for _, id := range group {
				c.returns <- c.held(result.Key{TestID: id, Target: "t"})
			}
		}
	}()
	return nil
}

// counted counts the writes to a ledger.
type counted struct {
	ledger
	writes int
}

func (c *counted) Append(records ...*result.Test) error {
	c.writes++
	return c.ledger.Append(records...)
}

// Where many conversations end at about the same time, their records are kept together.
func TestCrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const jobs = 100
		l, e := &counted{}, &crowded{&elsewhere{pushes: &pushes{}, returns: make(chan orchestrator.Return, jobs)}, jobs}
		o := made(t, orchestrator.Config{Workers: jobs, Queue: e, Returns: e, Results: l})
		totals, err := o.Run(t.Context(), orchestrator.Plan{Tests: costs(make([]float64, jobs)...)}, nil)
		if err != nil || totals.Passed != jobs || e.settled != jobs || l.writes > jobs/20 {
			t.Errorf("%v: %+v, %d settled, %d writes", err, totals, e.settled, l.writes)
		}
	})
}

// A run that is cancelled does not wait for what workers elsewhere hold.
func TestElsewhereCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	e := &elsewhere{pushes: &pushes{}, returns: make(chan orchestrator.Return)}
	stuck := &stuck{e, cancel}
	o := made(t, orchestrator.Config{Workers: 2, Queue: stuck, Returns: e, Results: &ledger{}})
	if _, err := o.Run(ctx, orchestrator.Plan{Tests: units(test("x"), test("y"), test("z"))}, nil); err != orchestrator.ErrStopped {
		t.Errorf("%v", err)
	}
}

// stuck takes jobs whose returns never come.
type stuck struct {
	*elsewhere
	cancel func()
}

func (s *stuck) Push(_ context.Context, j orchestrator.Job) error {
	if j.Key.TestID == "y" {
		s.cancel()
	}
	return nil
}
