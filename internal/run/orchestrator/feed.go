package orchestrator

import (
	"context"
	"slices"
	"sort"
)

// sight is among how many conversations the costliest begins first. Only their costs are looked at: a test is read when
// its turn comes, or that of a costlier one behind it, so that few are in memory.
const sight = 1000

// forecast has the costs of the tests that are read next. Its zero value knows none.
type forecast struct {
	next func() (float64, bool)
	// costs are those in sight, passed counts those before them.
	costs  []float64
	passed int
	// peaks are the places of costs that no later one in sight exceeds, counted from the first test of the plan: that
	// of the costliest first.
	peaks []int
}

// see brings so many costs into sight, if there are as many.
func (f *forecast) see(n int) {
	for len(f.costs) < n && f.next != nil {
		cost, ok := f.next()
		if !ok {
			f.next = nil
			return
		}
		for len(f.peaks) > 0 && f.costs[f.peaks[len(f.peaks)-1]-f.passed] < cost {
			f.peaks = f.peaks[:len(f.peaks)-1]
		}
		f.peaks = append(f.peaks, f.passed+len(f.costs))
		f.costs = append(f.costs, cost)
	}
}

// exceeds reports whether a test in sight costs more.
func (f *forecast) exceeds(cost float64) bool {
	return len(f.peaks) > 0 && f.costs[f.peaks[0]-f.passed] > cost
}

// take returns the cost of the next test, which is read now.
func (f *forecast) take() (cost float64) {
	f.see(1)
	if len(f.costs) == 0 {
		return 0
	}
	if f.peaks[0] == f.passed {
		f.peaks = f.peaks[1:]
	}
	cost, f.costs = f.costs[0], f.costs[1:]
	f.passed++
	return cost
}

// feed pushes jobs until every worker has one or nothing more may start now.
func (s *scheduler) feed(ctx context.Context) error {
	for s.inFlight() < s.Workers {
		if err := s.look(); err != nil || len(s.ready) == 0 {
			return err
		}
		if err := s.overspent(); err != nil {
			return err
		}
		if err := s.begin(ctx, s.ready[0]); err != nil {
			return err
		}
		s.ready = s.ready[1:]
		s.observe()
	}
	return nil
}

// look reads tests until one is ready, and none that is in sight costs more. A single worker takes them as they are
// written.
func (s *scheduler) look() error {
	for !s.read {
		if s.Workers > 1 {
			s.ahead.see(sight - len(s.ready))
		}
		if len(s.ready) > 0 && !s.ahead.exceeds(s.ready[0].cost) {
			return nil
		}
		if more, err := s.readNext(); err != nil || !more {
			return err
		}
	}
	return nil
}

// readNext admits the next test of the plan, and reports whether there was one.
func (s *scheduler) readNext() (bool, error) {
	u, err, ok := s.next()
	if err != nil || !ok {
		s.read = s.read || !ok
		return false, err
	}
	if err := s.admit(u, s.ahead.take()); err != nil {
		return true, err
	}
	return true, s.releaseWaiting()
}

// add makes a conversation ready: behind those that cost as much or more, with a single worker behind all.
func (s *scheduler) add(r ready) {
	at := len(s.ready)
	if s.Workers > 1 {
		at = sort.Search(len(s.ready), func(i int) bool { return s.ready[i].cost < r.cost })
	}
	s.ready = slices.Insert(s.ready, at, r)
}

// begin has a conversation held, or the trials of a test judged again.
func (s *scheduler) begin(ctx context.Context, r ready) error {
	if r.frozen != nil {
		s.open++
		s.rejudging.Go(func() {
			s.rejudge(ctx, r.Task, r.frozen)
			s.rejudged <- r.frozen // never blocks: no more than workers are under way
		})
		return nil
	}
	s.under.put(r.Task)
	if early, ok := s.early[r.Key()]; ok {
		delete(s.early, r.Key())
		return s.finish(ctx, early)
	}
	return s.push(ctx, r)
}

// push puts a conversation into the queue.
func (s *scheduler) push(ctx context.Context, r ready) error {
	err := s.Queue.Push(ctx, Job{
		Schema: JobSchema, Run: s.RunID, Kind: s.Kind, Key: r.Key(), Cost: r.cost, Commands: r.commands,
		Payload: s.Payload,
	})
	if err == nil {
		return nil
	}
	s.under.take(r.Key())
	if ctx.Err() != nil {
		return ErrStopped
	}
	return err
}
