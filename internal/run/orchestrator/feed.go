package orchestrator

import (
	"context"
	"slices"
	"sort"
)

// sight is how many conversations are looked at for the costliest to begin with. It bounds what a run keeps in memory.
const sight = 1000

// feed pushes jobs until every worker has one or nothing more may start now.
func (s *scheduler) feed(ctx context.Context, next func() (Unit, error, bool)) error {
	for s.inFlight() < s.Workers {
		if err := s.look(next); err != nil || len(s.ready) == 0 {
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

// look admits tests until enough are ready to choose from. A single worker takes them as they are written, so one is
// enough.
func (s *scheduler) look(next func() (Unit, error, bool)) error {
	wanted := 1
	if s.Workers > 1 {
		wanted = sight
	}
	for len(s.ready) < wanted && !s.read {
		u, err, ok := next()
		if err != nil {
			return err
		}
		if !ok {
			s.read = true
			break
		}
		if err := s.admit(u); err != nil {
			return err
		}
		if err := s.releaseWaiting(); err != nil {
			return err
		}
	}
	return nil
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
