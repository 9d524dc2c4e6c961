package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// ErrStopped says that a run was stopped before all of its tests had run.
var ErrStopped = errors.New("the run was stopped")

// scheduler decides what runs next. It is used by one goroutine; workers talk to it through a channel.
type scheduler struct {
	Config
	plan  Plan
	tally result.Tally
	// ready are jobs that may start, units are tests whose trials are under way.
	ready []ready
	units map[result.Key]*unit
	// waiting are units with dependencies that have not ended; ended has the outcomes that dependents need.
	waiting []*unit
	ended   map[result.Key]Outcome
	// under are the conversations under way, early what workers of an earlier leader have returned for jobs that this
	// one has not pushed yet.
	under tasks
	early map[result.Key]Return
	// wrote are the conversations that have a record, true once it is stored. It is needed where workers elsewhere may
	// return one twice.
	wrote map[result.Key]bool
	// batch are records to be kept, settle is what to call then.
	batch  []*result.Test
	settle []func()
	// next reads the plan's next test, ahead has the costs of those after it; read is true when there are no more.
	next  func() (Unit, error, bool)
	ahead forecast
	read  bool
	// rejudged gets the tests whose transcripts were judged again; open counts those that are judged.
	rejudged  chan *frozen
	open      int
	rejudging sync.WaitGroup
	// closing is true once nothing new is begun.
	closing bool
	// ends counts the units that have ended, seen is its value at the last look at waiting: another look is useful only
	// when they differ.
	ends, seen int
}

// ready is a conversation that may start, or with frozen the trials of a test that are to be judged again.
type ready struct {
	Task
	cost     float64
	commands bool
	frozen   *frozen
}

// guarded runs the plan and turns a panic of the plan or of the results into an error.
func (s *scheduler) guarded(ctx context.Context, done <-chan Return, stop <-chan struct{}) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = runner.Panicked(s.Log, r)
		}
	}()
	return s.run(ctx, done, stop)
}

func (s *scheduler) run(ctx context.Context, done <-chan Return, stop <-chan struct{}) (stopped error) {
	next, release := iter.Pull2(s.plan.Tests)
	defer release()
	s.next = next
	if s.plan.Costs != nil {
		costs, end := iter.Pull(s.plan.Costs)
		defer end()
		s.ahead.next = costs
	}
	late, still := s.late()
	defer still()
	for {
		select {
		case <-stop: // also where a conversation has ended at the same time
			stop, stopped = nil, cmp.Or(stopped, ErrStopped)
		default:
		}
		if stopped == nil {
			stopped = cmp.Or(s.feed(ctx), s.overspentElsewhere())
		}
		if stopped != nil {
			s.close()
		}
		if err := s.flush(); err != nil && stopped == nil { // tests that were skipped
			stopped = err
		}
		if s.inFlight() == 0 {
			return s.ending(stopped)
		}
		var err error
		select {
		case r := <-done:
			err = s.finishAll(ctx, r, done)
			if over, ok := errors.AsType[ended](err); ok {
				return s.cut(ctx, cmp.Or(stopped, over.error))
			}
		case f := <-s.rejudged:
			s.open--
			if err = s.aggregated(f.unit); err == nil {
				err = s.releaseWaiting()
			}
		case <-stop:
			stop, stopped = nil, cmp.Or(stopped, ErrStopped)
		case <-late:
			late, stopped = nil, cmp.Or(stopped, s.overtime())
		}
		if err = cmp.Or(err, s.flush()); stopped == nil {
			stopped = err
		}
	}
}

// cut ends a run whose returns have ended: what workers elsewhere still hold is not waited for.
func (s *scheduler) cut(ctx context.Context, stopped error) error {
	if ctx.Err() != nil {
		stopped = ErrStopped
	}
	for s.open > 0 {
		f := <-s.rejudged
		s.open--
		if err := s.aggregated(f.unit); err != nil {
			return err
		}
	}
	return s.ending(stopped)
}

// inFlight counts what is under way.
func (s *scheduler) inFlight() int { return s.under.len() + s.open }

// ending returns why the run is over, nil when it is complete. A run that was stopped when nothing was left to run is
// complete.
func (s *scheduler) ending(stopped error) error {
	if stopped != nil {
		if err := s.giveUpRejudging(); err != nil {
			return err
		}
	}
	if errors.Is(stopped, ErrStopped) || errors.Is(stopped, ErrBudget) {
		left, err := s.left()
		if err != nil {
			return err
		}
		if !left {
			stopped = nil
		}
	}
	if err := s.flush(); err != nil && stopped == nil {
		return err
	}
	if stopped == nil && len(s.waiting) > 0 {
		return fmt.Errorf("%s for tests that never ran, %s first", waits(len(s.waiting)), s.waiting[0].Test.ID)
	}
	return stopped
}

// giveUpRejudging ends the tests whose trials were to be judged again: all of them were held.
func (s *scheduler) giveUpRejudging() error {
	held := s.ready
	s.ready = nil
	for _, r := range held {
		if r.frozen == nil {
			s.ready = append(s.ready, r)
			continue
		}
		r.frozen.unknown = stoppedRejudging
		if err := s.aggregated(r.frozen.unit); err != nil {
			return err
		}
	}
	return s.releaseWaiting()
}

func waits(n int) string {
	if n == 1 {
		return "1 test waits"
	}
	return fmt.Sprintf("%d tests wait", n)
}

// left reports whether a conversation is left to hold. Tests whose records exist, and those to be skipped, are finished
// on the way.
func (s *scheduler) left() (bool, error) {
	for len(s.ready) == 0 && len(s.units) == 0 {
		if more, err := s.readNext(); err != nil || !more {
			return len(s.waiting) > 0, err
		}
	}
	return true, nil
}
