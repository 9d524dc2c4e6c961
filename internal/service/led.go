package service

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"rehearse/internal/artifact"
	"rehearse/internal/fleet"
	"rehearse/internal/orchestrator"
	"rehearse/internal/replay"
	"rehearse/internal/result"
	"rehearse/internal/runlog"
	"rehearse/internal/store"
)

// led is a run that is led here: what an evaluation needs of its fleet.
type led struct {
	service *Service
	ctx     context.Context //nolint:containedctx // that of the leading, for what an evaluation calls without one
	passing context.Context //nolint:containedctx // that of whoever waits in Next
	run     string
	bundle  string // the hash of the files of the run, as NATS has them
	fence   store.Fence
	returns *fleet.Returns

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

	// sessions is true of a replay run: what workers send is no record.
	sessions bool
	// target is the name of the candidate of a replay run.
	target string

	// artifacts keeps what workers have gathered; nil where the run asks for none. sent is where they have put it, tell is told of what could not be
	// kept. came are the hashes of conversations whose records are not stored, stored are those whose records are.
	artifacts *artifact.Keeper
	sent      *fleet.Artifacts
	tell      func(string)
	came      map[result.Key][]string
	stored    map[result.Key]bool
}

var (
	_ orchestrator.Returns    = (*led)(nil)
	_ orchestrator.Queue      = (*led)(nil)
	_ orchestrator.Withdrawer = (*led)(nil)
)

// newLed returns a run that is led here.
func newLed(ctx context.Context, s *Service, run, bundle string, fence store.Fence, returns *fleet.Returns) *led {
	return &led{
		service: s, ctx: ctx, run: run, bundle: bundle, fence: fence, returns: returns, workers: map[result.Key]string{},
		out: map[result.Key]orchestrator.Job{}, held: map[result.Key]bool{}, in: make(chan orchestrator.Return, 64),
	}
}

// Push puts a job into the queue, and remembers it until its record is stored.
func (l *led) Push(ctx context.Context, j orchestrator.Job) error {
	l.mu.Lock()
	l.out[j.Key] = j
	l.mu.Unlock()
	return l.service.Queue.Push(ctx, j)
}

// Pull is not for leaders: workers pull.
func (l *led) Pull(ctx context.Context) (orchestrator.Delivery, error) {
	return l.service.Queue.Pull(ctx)
}

// Withdraw takes back in the background what no worker has begun.
func (l *led) Withdraw() {
	l.group.Go(func() {
		var jobs []orchestrator.Job
		err := fleet.Again(l.passing, func(ctx context.Context) (err error) {
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
func (l *led) jobs(before map[result.Key]bool) []orchestrator.Job {
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
func (l *led) Next(ctx context.Context) (orchestrator.Return, error) {
	l.begun.Do(func() {
		l.group.Go(func() { l.receive(ctx) })
		l.group.Go(func() { l.miss(ctx) })
		l.group.Go(func() { l.progress(ctx) })
	})
	select {
	case r := <-l.in:
		return r, r.Err
	case <-ctx.Done():
		return orchestrator.Return{}, ctx.Err()
	}
}

// receive passes on what workers send back.
func (l *led) receive(ctx context.Context) {
	for {
		got, err := l.returns.Next(ctx)
		switch {
		case err != nil:
			l.pass(ctx, orchestrator.Return{Err: err})
			return
		case got.Key == (result.Key{}): // unreadable: its job is missed
			_ = got.Settle(context.WithoutCancel(ctx)) // else it comes again
		default:
			l.pass(ctx, l.read(ctx, got))
		}
	}
}

func (l *led) pass(ctx context.Context, r orchestrator.Return) {
	select {
	case l.in <- r:
	case <-ctx.Done():
	}
}

// read reads the record of a return.
func (l *led) read(ctx context.Context, got *fleet.Received) orchestrator.Return {
	r := orchestrator.Return{Key: got.Key, Fault: got.Fault, Worker: got.Worker, Settle: func() {
		_ = got.Settle(context.WithoutCancel(ctx)) // else it comes again, and is known then
	}}
	if l.sessions {
		r.Body = got.Record
		return r
	}
	if got.Fault == "" {
		r.Record = &result.Test{}
		if err := json.Unmarshal(got.Record, r.Record); err != nil || r.Record.Key() != got.Key {
			r.Record, r.Fault = nil, fmt.Sprintf("worker %s sent what is no result of the conversation", got.Worker)
		}
	}
	if r.Record != nil {
		l.receiveArtifacts(ctx, r.Record)
	}
	if r.Record != nil && len(got.Tries) > 0 {
		r.Record.Attempts = attempts(got)
	}
	l.mu.Lock()
	l.workers[got.Key] = got.Worker
	l.mu.Unlock()
	return r
}

// attempts says how often a conversation was held, and why the earlier times do not count.
func attempts(got *fleet.Received) (all []result.Attempt) {
	for i, try := range got.Tries {
		a := result.Attempt{N: i + 1, Code: result.WorkerLost, Message: strings.TrimSpace("worker " + try.Worker + " was not heard of again")}
		if !try.Lost && try.Why != "" {
			a.Message = "worker " + try.Worker + " gave it back: " + try.Why
		}
		if !try.At.IsZero() {
			a.StartedAt = new(try.At.UTC())
		}
		all = append(all, a)
	}
	last := result.Attempt{N: len(got.Tries) + 1}
	if !got.StartedAt.IsZero() {
		last.StartedAt = new(got.StartedAt.UTC())
		last.DurationMS = new(float64(got.EndedAt.Sub(got.StartedAt).Microseconds()) / 1000)
	}
	return append(all, last)
}

// missing is the time between two looks for jobs that NATS has lost.
const missing = 5 * time.Second

// miss has jobs put in again that are neither queued nor held nor returned, and the files of the run with them.
func (l *led) miss(ctx context.Context) {
	before := map[result.Key]bool{}
	for fleet.Pause(ctx, missing) == nil {
		jobs := l.jobs(before) // the others may be on their way
		l.mu.Lock()
		clear(before)
		for key := range l.out {
			before[key] = true
		}
		l.mu.Unlock()
		var lost []orchestrator.Job
		err := l.offerAgain(ctx)
		if err == nil && len(jobs) > 0 {
			lost, err = l.service.Queue.Missing(ctx, l.run, jobs)
		}
		if err != nil {
			if ctx.Err() == nil {
				l.service.Log.Warn("lost jobs cannot be looked for", "run_id", l.run, "error", err)
			}
			continue
		}
		for _, j := range lost {
			l.mu.Lock()
			_, out := l.out[j.Key] // its record may be stored meanwhile
			l.mu.Unlock()
			if out {
				l.pass(ctx, orchestrator.Return{Key: j.Key, Lost: true})
			}
		}
	}
}

// offerAgain puts the files of the run in again when NATS has lost them: a worker that comes new needs them.
func (l *led) offerAgain(ctx context.Context) error {
	there, err := l.service.Conn.HasBundle(ctx, l.bundle)
	if err == nil && !there {
		_, _, err = l.service.offer(ctx, l.run)
	}
	return err
}

// store keeps records for all servers.
func (l *led) store(records []*result.Test, lines [][]byte) error {
	results := make([]store.NewResult, len(records))
	for i, line := range lines {
		t, err := runlog.Decode(line) // as it is shown: without secrets
		if err != nil {
			return err
		}
		results[i] = store.NewResult{Test: t, Worker: l.heldBy(records[i].Key()), Artifacts: rowsOf(t)}
	}
	return l.put(l.ctx, results, func() { l.arrived(records) })
}

// lastWord is how long sessions that were replayed may take to be stored when the run has been cancelled.
const lastWord = 5 * time.Second

// storeSessions keeps sessions that were replayed as results, for all servers: also those that were replayed when the run was cancelled.
func (l *led) storeSessions(batch []replay.Held) error {
	results := make([]store.NewResult, len(batch))
	for i := range batch {
		t := sessionRecord(l.run, &batch[i], l.target)
		l.heldBy(t.Key())
		results[i] = store.NewResult{Test: t, Worker: batch[i].Worker}
	}
	if len(results) == 0 {
		return nil
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(l.ctx))
	defer cancel()
	defer context.AfterFunc(l.ctx, func() { time.AfterFunc(lastWord, cancel) })()
	return l.put(ctx, results, func() {})
}

// known keeps how many sessions the run has.
func (l *led) known(sessions int) {
	_, err := l.service.Store.UpdateRun(l.ctx, l.run, l.fence, func(r *store.Run) error {
		r.Progress.Conversations = &sessions
		return nil
	})
	if err != nil && l.ctx.Err() == nil {
		l.service.Log.Warn("the number of sessions of the run is not kept", "run_id", l.run, "error", err)
	}
}

// put keeps results, and calls kept when they are. A store that is away is waited for.
func (l *led) put(ctx context.Context, results []store.NewResult, kept func()) error {
	for again := false; ; again = true {
		stored, err := l.service.Store.PutResults(ctx, l.run, l.fence, results)
		if err == nil {
			kept()
		}
		for i, s := range stored {
			if s.New || again { // the store went away when it had kept them: nobody else stores results of this lease
				l.service.Metrics.Stored(results[i].Test)
			}
		}
		if err == nil || !store.Away(err) {
			return err
		}
		if err := fleet.Pause(ctx, time.Second); err != nil {
			return err
		}
	}
}

// notice learns which conversations are held.
func (l *led) notice(n fleet.Notice) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, out := l.out[n.Key]; out {
		l.held[n.Key] = true
	}
}

// heldBy returns who held a conversation, and forgets it.
func (l *led) heldBy(k result.Key) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	name := l.workers[k]
	delete(l.workers, k)
	delete(l.out, k)
	delete(l.held, k)
	return name
}

// durations returns how long tests took before. Only the order rests on it.
func (l *led) durations(keys []result.Key) map[result.Key]time.Duration {
	known, err := l.service.Store.MeanDurations(l.ctx, keys)
	if err != nil && l.ctx.Err() == nil {
		l.service.Log.Warn("tests are begun without regard to how long they took before", "run_id", l.run, "error", err)
	}
	return known
}

// Begin implements evaluation.Sink.
func (l *led) Begin(result.Run, int) {}

// Keep implements evaluation.Sink.
func (l *led) Keep(*result.Test) {}

// End implements evaluation.Sink.
func (l *led) End() {}

// Observe implements evaluation.Sink.
func (l *led) Observe(orchestrator.Progress) {}

// progress keeps how many conversations are held, at most once a second.
func (l *led) progress(ctx context.Context) {
	for told := 0; fleet.Pause(ctx, time.Second) == nil; {
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
