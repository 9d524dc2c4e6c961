package orchestrator_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// elsewhere holds jobs as workers of other processes do: in any order, twice, or after losing them once.
type elsewhere struct {
	*pushes
	returns chan orchestrator.Return
	settled int
	settle  func(id string) // nil tells nobody
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
		Key: k, Record: &result.Test{TestID: k.TestID, Verdict: result.Pass, Score: 1}, Settle: func() {
			if e.settled++; e.settle != nil {
				e.settle(k.TestID)
			}
		},
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
	totals, err := o.Run(t.Context(), costly(new(int), 1, 1, 1, 1), nil)
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

// A return that comes before its turn is settled only once its record is stored, however often it is delivered before.
func TestEarlyTwice(t *testing.T) {
	l, e := &ledger{}, &elsewhere{pushes: &pushes{}, returns: make(chan orchestrator.Return, 100)}
	e.settle = func(id string) {
		if kept := slices.ContainsFunc(l.records, func(r *result.Test) bool { return r.TestID == id }); !kept {
			t.Errorf("%s is settled before its record is stored", id)
		}
	}
	for range 3 {
		e.returns <- e.held(result.Key{TestID: "f", Target: "t"}) // the last one that begins
	}
	o := made(t, orchestrator.Config{Workers: 1, Queue: e, Returns: e, Results: l})
	totals, err := o.Run(t.Context(), orchestrator.Plan{Tests: units(test("c"), test("d"), test("e"), test("f"))}, nil)
	if err != nil || totals.Passed != 4 || slices.Contains(e.ids, "f") {
		t.Errorf("%v: %+v, %v pushed", err, totals, e.ids)
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
		totals, err := o.Run(t.Context(), costly(new(int), make([]float64, jobs)...), nil)
		if err != nil || totals.Passed != jobs || e.settled != jobs || l.writes > jobs/20 {
			t.Errorf("%v: %+v, %d settled, %d writes", err, totals, e.settled, l.writes)
		}
	})
}

// filled is a ledger whose disk is full at the first write.
type filled struct {
	ledger
	refused []string
}

func (f *filled) Append(records ...*result.Test) error {
	if f.refused == nil {
		for _, r := range records {
			f.refused = append(f.refused, r.TestID)
		}
		return errors.New("the disk is full")
	}
	return f.ledger.Append(records...)
}

// slow brings returns one by one.
type slow struct{ *elsewhere }

func (s slow) Next(ctx context.Context) (orchestrator.Return, error) {
	time.Sleep(time.Second)
	return s.elsewhere.Next(ctx)
}

// A return whose record could not be kept is not settled: neither when later records are kept, nor when it comes a
// second time.
func TestUnkept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var settled []string
		l, e := &filled{}, &elsewhere{pushes: &pushes{}, returns: make(chan orchestrator.Return, 100)}
		e.settle = func(id string) { settled = append(settled, id) }
		o := made(t, orchestrator.Config{Workers: 4, Queue: e, Returns: slow{e}, Results: l})
		_, err := o.Run(t.Context(), orchestrator.Plan{Tests: units(test("c"), test("d"), test("e"), test("f"))}, nil)
		if err == nil || !strings.Contains(err.Error(), "the disk is full") || len(l.refused) != 1 ||
			len(l.records) != 3 {
			t.Fatalf("%v: %d refused, %d kept", err, len(l.refused), len(l.records))
		}
		if slices.Contains(settled, l.refused[0]) {
			t.Errorf("%s is settled and not kept", l.refused[0])
		}
	})
}

// ending is a fleet whose returns end with an error after some have come.
type ending struct {
	*elsewhere
	after int
	err   error
}

func (e *ending) Next(ctx context.Context) (orchestrator.Return, error) {
	if e.after == 0 {
		return orchestrator.Return{}, e.err
	}
	e.after--
	return e.elsewhere.Next(ctx)
}

// A run whose returns end while many come at once ends too, and what had come is kept.
func TestCrowdCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const jobs = 100
		l, crowd := &counted{}, &crowded{
			&elsewhere{pushes: &pushes{}, returns: make(chan orchestrator.Return, jobs)}, jobs,
		}
		e := &ending{crowd.elsewhere, 25, errors.New("the disk is full")}
		o := made(t, orchestrator.Config{Workers: jobs, Queue: crowd, Returns: e, Results: l})
		totals, err := o.Run(t.Context(), costly(new(int), make([]float64, jobs)...), nil)
		if !errors.Is(err, e.err) || totals.Passed != 25 || len(l.records) != 25 || e.settled != 25 {
			t.Errorf("%v: %+v, %d kept, %d settled", err, totals, len(l.records), e.settled)
		}
		time.Sleep(time.Second) // the others come to nobody
	})
}

// A run that is cancelled does not wait for what workers elsewhere hold.
func TestElsewhereCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	e := &elsewhere{pushes: &pushes{}, returns: make(chan orchestrator.Return)}
	stuck := &stuck{e, cancel}
	o := made(t, orchestrator.Config{Workers: 2, Queue: stuck, Returns: e, Results: &ledger{}})
	if _, err := o.Run(ctx, orchestrator.Plan{Tests: units(test("x"), test("y"), test("z"))}, nil); !errors.Is(err,
		orchestrator.ErrStopped) {
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
