package coordinator

import (
	"context"
	"fmt"
	"time"

	"github.com/rehearse-dev/rehearse/internal/run/natsconn"
	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
	"github.com/rehearse-dev/rehearse/internal/run/queue"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// receive passes on what workers send back.
func (l *activeRun) receive(ctx context.Context) {
	for {
		got, err := l.returns.Next(ctx)
		switch {
		case err != nil:
			l.pass(ctx, orchestrator.Return{Err: err})
			return
		case got.Key == (result.Key{}): // unreadable: its job is missed
			_ = got.Settle(context.WithoutCancel(ctx)) // else it comes again
		default:
			l.isBack(got)
			l.pass(ctx, l.read(ctx, got))
		}
	}
}

func (l *activeRun) pass(ctx context.Context, r orchestrator.Return) {
	select {
	case l.in <- r:
	case <-ctx.Done():
	}
}

// read reads the record of a return.
func (l *activeRun) read(ctx context.Context, got *natsconn.Received) orchestrator.Return {
	r := orchestrator.Return{Key: got.Key, Fault: got.Fault, Worker: got.Worker, Settle: func() {
		_ = got.Settle(context.WithoutCancel(ctx)) // else it comes again, and is known then
		l.heldBy(got.Key)                          // a repeat is no result of the run, and is stored elsewhere
	}}
	if got.Fault != "" && givenUp(got) {
		r.Fault += ": " + queue.Reasons(got.Tries)
	}
	if l.sessions {
		r.Body = got.Record
		return r
	}
	if got.Fault == "" {
		var err error
		if r.Record, err = runlog.Decode(got.Record); err != nil || r.Record.Key() != got.Key {
			r.Record, r.Fault = nil, fmt.Sprintf("worker %s sent what is no result of the conversation", got.Worker)
		}
	}
	if r.Record != nil {
		l.receiveArtifacts(ctx, r.Record)
	}
	if len(got.Tries) > 0 {
		r.Attempts = attempts(got)
	}
	if r.Record != nil {
		r.Record.Attempts = r.Attempts
	}
	l.mu.Lock()
	l.workers[got.Key] = got.Worker
	l.mu.Unlock()
	return r
}

// givenUp reports whether a conversation was not held again, after all its deliveries had come to nothing.
func givenUp(got *natsconn.Received) bool { return len(got.Tries) > 0 && got.Attempt <= len(got.Tries) }

// attempts says how often a conversation was held, and why the earlier times do not count.
func attempts(got *natsconn.Received) (all []result.Attempt) {
	for i, try := range got.Tries {
		who := "worker " + try.Worker
		if try.Worker == "" { // it was lost before NATS knew
			who = "its worker"
		}
		a := result.Attempt{N: i + 1, Code: result.WorkerLost, Message: who + " was not heard of again"}
		if !try.Lost && try.Why != "" {
			a.Message = who + " gave it back: " + try.Why
		}
		if !try.At.IsZero() {
			a.StartedAt = new(try.At.UTC())
		}
		all = append(all, a)
	}
	if givenUp(got) {
		return all
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
func (l *activeRun) miss(ctx context.Context) {
	before := map[result.Key]bool{}
	for natsconn.Pause(ctx, missing) == nil {
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
func (l *activeRun) offerAgain(ctx context.Context) error {
	there, err := l.service.Conn.HasBundle(ctx, l.bundle)
	if err == nil && !there {
		_, _, err = l.service.offer(ctx, l.run)
	}
	return err
}
