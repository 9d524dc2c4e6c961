package orchestrator

import (
	"context"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// tasks are the conversations under way, by the keys of their jobs. It is safe for concurrent use.
type tasks struct {
	mu   sync.Mutex
	open map[result.Key]Task
}

func (t *tasks) put(task Task) {
	t.mu.Lock()
	t.open[task.Key()] = task
	t.mu.Unlock()
}

func (t *tasks) get(k result.Key) (Task, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	task, ok := t.open[k]
	return task, ok
}

// take removes a task.
func (t *tasks) take(k result.Key) (Task, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	task, ok := t.open[k]
	delete(t.open, k)
	return task, ok
}

func (t *tasks) len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.open)
}

// returns starts what brings returns: the workers of this process, or one reader of those elsewhere. end waits for it.
func (s *scheduler) returns(ctx context.Context) (done <-chan Return, end func()) {
	// Workers pull until every pushed job is accounted for, even after ctx has ended.
	pulling, cancel := context.WithCancel(context.WithoutCancel(ctx))
	out := make(chan Return, s.Workers)
	var group sync.WaitGroup
	receiving, leave := context.WithCancel(ctx)
	if s.Returns != nil {
		group.Go(func() { s.receive(receiving, pulling.Done(), out) })
	} else {
		for range s.Workers {
			group.Go(func() { s.work(ctx, pulling, out) })
		}
	}
	return out, func() {
		cancel()
		leave()
		group.Wait()
		s.rejudging.Wait()
	}
}

// receive passes on what workers elsewhere return, until ctx ends: what they still hold then is not waited for.
func (s *scheduler) receive(ctx context.Context, done <-chan struct{}, out chan<- Return) {
	for {
		r, err := s.Returns.Next(ctx)
		if err != nil {
			select {
			case out <- Return{Err: err}:
			case <-done:
			}
			return
		}
		select {
		case out <- r:
		case <-ctx.Done():
		}
	}
}

// work holds conversations in this process, one after the other.
func (s *scheduler) work(ctx, pulling context.Context, out chan<- Return) {
	for {
		d, err := s.Queue.Pull(pulling)
		if err != nil {
			return
		}
		task, ok := s.under.get(d.Job().Key)
		r := Return{Key: d.Job().Key}
		if ok {
			r = s.hold(ctx, task)
		}
		_ = d.Ack(pulling) // a queue of this process forgets the job
		out <- r           // never blocks: no more jobs than workers are in flight
	}
}

// hold holds a conversation and turns a panic of a grader or target into the record of a test that could not be run.
func (s *scheduler) hold(ctx context.Context, t Task) (r Return) {
	began := s.Now()
	defer func() {
		if fault := recover(); fault != nil {
			r = Return{Key: t.Key(), Record: Broken(t, began, runner.Panicked(s.Log, fault).Error())}
		}
	}()
	record, err := s.Run(ctx, t)
	return Return{Key: t.Key(), Record: record, Err: err}
}
