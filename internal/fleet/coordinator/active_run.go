package coordinator

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/internal/run/artifact"
	"github.com/rehearse-dev/rehearse/internal/run/natsconn"
	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// activeRun is a run that is led here: what an evaluation needs of its fleet.
type activeRun struct {
	service *Service
	ctx     context.Context //nolint:containedctx // that of the leading, for what an evaluation calls without one
	passing context.Context //nolint:containedctx // that of whoever waits in Next
	run     string
	bundle  string // the hash of the files of the run, as NATS has them
	fence   store.Fence
	returns *natsconn.Returns

	in    chan orchestrator.Return
	begun sync.Once
	group sync.WaitGroup

	mu sync.Mutex
	// out are the jobs whose records are not stored.
	out map[result.Key]orchestrator.Job
	// workers are who held the conversations that are not stored yet.
	workers map[result.Key]string
	// held are those of out that a worker is known to hold.
	held map[result.Key]bool
	// back are the tokens of jobs of an earlier leader whose returns wait here or in NATS, and which are not pushed
	// yet.
	back map[string]bool

	// sessions is true of a replay run: what workers send is no record.
	sessions bool
	// target is the name of the candidate of a replay run.
	target string

	// artifacts keeps what workers have gathered; nil where the run asks for none. sent is where they have put it, tell
	// is told of what could not be kept. came are the hashes of conversations whose records are not stored, stored are
	// those whose records are.
	artifacts *artifact.Writer
	sent      *natsconn.Artifacts
	tell      func(string)
	came      map[result.Key][]string
	stored    map[result.Key]bool
}

var (
	_ orchestrator.Returns    = (*activeRun)(nil)
	_ orchestrator.Queue      = (*activeRun)(nil)
	_ orchestrator.Withdrawer = (*activeRun)(nil)
)

// newActiveRun returns a run that is led here. It looks up what workers have returned already.
func newActiveRun(ctx context.Context, s *Service, run, bundle string, fence store.Fence,
	returns *natsconn.Returns) (*activeRun, error) {
	l := &activeRun{
		service: s, ctx: ctx, run: run, bundle: bundle, fence: fence, returns: returns,
		workers: map[result.Key]string{}, out: map[result.Key]orchestrator.Job{}, held: map[result.Key]bool{},
		back: map[string]bool{}, in: make(chan orchestrator.Return, 64),
	}
	return l, natsconn.Again(ctx, func(ctx context.Context) error {
		waiting, err := s.Conn.ReturnsOf(ctx, run)
		for _, subject := range waiting {
			l.back[subject[strings.LastIndexByte(subject, '.')+1:]] = true
		}
		return err
	})
}

// Push puts a job into the queue, and remembers it until its record is stored. One whose return waits is not held
// again; if that is lost, the job is missed.
func (l *activeRun) Push(ctx context.Context, j orchestrator.Job) error {
	token := natsconn.JobToken(j.Kind, j.Key)
	l.mu.Lock()
	l.out[j.Key] = j
	back := l.back[token]
	delete(l.back, token)
	l.mu.Unlock()
	if back {
		return nil
	}
	return l.service.Queue.Push(ctx, j)
}

// isBack notes that a return has come whose job is not pushed yet.
func (l *activeRun) isBack(got *natsconn.Received) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, out := l.out[got.Key]; !out {
		l.back[natsconn.JobToken(got.Kind, got.Key)] = true
	}
}

// Pull is not for leaders: workers pull.
func (l *activeRun) Pull(ctx context.Context) (orchestrator.Delivery, error) {
	return l.service.Queue.Pull(ctx)
}

// Withdraw takes back in the background what no worker has begun.
func (l *activeRun) Withdraw() {
	l.group.Go(func() {
		var jobs []orchestrator.Job
		err := natsconn.Again(l.passing, func(ctx context.Context) (err error) {
			jobs, err = l.service.Queue.Withdraw(ctx, l.jobs(nil))
			return err // what an earlier try has taken back is missed
		})
		if err != nil && l.passing.Err() == nil {
			l.service.Log.Warn("what is queued cannot be taken back and is held", "run_id", l.run, "error", err)
		}
		for _, j := range jobs {
			l.pass(l.passing, orchestrator.Return{Key: j.Key, Lost: true})
		}
	})
}

// jobs returns the jobs without a stored record, only those that were among the keys before unless that is nil.
func (l *activeRun) jobs(before map[result.Key]bool) []orchestrator.Job {
	l.mu.Lock()
	defer l.mu.Unlock()
	jobs := make([]orchestrator.Job, 0, len(l.out))
	for key, j := range l.out {
		if before == nil || before[key] {
			jobs = append(jobs, j)
		}
	}
	return jobs
}

// Next waits for what a worker sends back, or for a job that NATS has lost.
func (l *activeRun) Next(ctx context.Context) (orchestrator.Return, error) {
	l.begun.Do(func() {
		// Repeats of tests are waited for by another caller than the run itself.
		l.group.Go(func() { l.receive(l.passing) })
		l.group.Go(func() { l.miss(l.passing) })
		l.group.Go(func() { l.progress(l.passing) })
	})
	select {
	case r := <-l.in:
		return r, r.Err
	case <-ctx.Done():
		return orchestrator.Return{}, ctx.Err()
	}
}

// notice learns which conversations are held.
func (l *activeRun) notice(n natsconn.Notice) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, out := l.out[n.Key]; out {
		l.held[n.Key] = true
	}
}

// heldBy returns who held a conversation, and forgets it.
func (l *activeRun) heldBy(k result.Key) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	name := l.workers[k]
	delete(l.workers, k)
	delete(l.out, k)
	delete(l.held, k)
	return name
}

// durations returns how long tests took before. Only the order rests on it.
func (l *activeRun) durations(keys []result.Key) map[result.Key]time.Duration {
	known, err := l.service.Store.MeanDurations(l.ctx, keys)
	if err != nil && l.ctx.Err() == nil {
		l.service.Log.Warn("tests are begun without regard to how long they took before", "run_id", l.run, "error", err)
	}
	return known
}

// Begin implements evaluation.Sink.
func (l *activeRun) Begin(result.Run, int) {}

// Store implements evaluation.Sink.
func (l *activeRun) Store(*result.Test) {}

// End implements evaluation.Sink.
func (l *activeRun) End() {}

// Observe implements evaluation.Sink.
func (l *activeRun) Observe(orchestrator.Progress) {}

// progress keeps how many conversations are held, at most once a second.
func (l *activeRun) progress(ctx context.Context) {
	for told := 0; natsconn.Pause(ctx, time.Second) == nil; {
		l.mu.Lock()
		running := len(l.held)
		l.mu.Unlock()
		if running == told {
			continue
		}
		_, err := l.service.Store.UpdateRun(ctx, l.run, l.fence, func(r *store.Run) error {
			r.Progress.Running = running
			return nil
		})
		if err == nil {
			told = running
		} else if ctx.Err() == nil {
			l.service.Log.Warn("the progress of the run is not kept", "run_id", l.run, "error", err)
		}
	}
}
