package service

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"rehearse/internal/fleet"
	"rehearse/internal/orchestrator"
	"rehearse/internal/result"
	"rehearse/internal/runlog"
	"rehearse/internal/store"
)

// led is a run that is led here: what an evaluation needs of its fleet.
type led struct {
	service *Service
	ctx     context.Context //nolint:containedctx // that of the leading, for what an evaluation calls without one
	run     string
	fence   store.Fence
	returns *fleet.Returns
	told    time.Time

	mu sync.Mutex
	// workers are who held the conversations that are not stored yet.
	workers map[result.Key]string
}

var _ orchestrator.Returns = (*led)(nil)

// Next waits for what a worker sends back.
func (l *led) Next(ctx context.Context) (orchestrator.Return, error) {
	for {
		got, err := l.returns.Next(ctx)
		if err != nil {
			return orchestrator.Return{}, err
		}
		settle := func() { _ = got.Settle(context.WithoutCancel(ctx)) } // else it comes again, and is known then
		r := orchestrator.Return{Key: got.Key, Fault: got.Fault, Settle: settle}
		if got.Key == (result.Key{}) { // unreadable
			settle()
			continue
		}
		if got.Fault == "" {
			r.Record = &result.Test{}
			if err := json.Unmarshal(got.Record, r.Record); err != nil || r.Record.Key() != got.Key {
				r.Record, r.Fault = nil, fmt.Sprintf("worker %s sent what is no result of the conversation", got.Worker)
			}
		}
		l.mu.Lock()
		l.workers[got.Key] = got.Worker
		l.mu.Unlock()
		return r, nil
	}
}

// store keeps records for all servers. A store that is away is waited for.
func (l *led) store(records []*result.Test, lines [][]byte) error {
	results := make([]store.NewResult, len(records))
	for i, line := range lines {
		t, err := runlog.Decode(line) // as it is shown: without secrets
		if err != nil {
			return err
		}
		results[i] = store.NewResult{Test: t, Worker: l.held(records[i].Key())}
	}
	for {
		_, err := l.service.Store.PutResults(l.ctx, l.run, l.fence, results)
		if err == nil || !store.Away(err) {
			return err
		}
		if err := fleet.Pause(l.ctx, time.Second); err != nil {
			return err
		}
	}
}

// held returns who held a conversation, and forgets it.
func (l *led) held(k result.Key) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	name := l.workers[k]
	delete(l.workers, k)
	return name
}

// Begin implements evaluation.Sink.
func (l *led) Begin(result.Run, int) {}

// Keep implements evaluation.Sink.
func (l *led) Keep(*result.Test) {}

// End implements evaluation.Sink.
func (l *led) End() {}

// Observe keeps how many conversations are under way, at most once a second.
func (l *led) Observe(p orchestrator.Progress) {
	now := l.service.Now()
	if now.Sub(l.told) < time.Second {
		return
	}
	l.told = now
	_, err := l.service.Store.UpdateRun(l.ctx, l.run, l.fence, func(r *store.Run) error {
		r.Progress.Running = p.InFlight
		return nil
	})
	if err != nil && l.ctx.Err() == nil {
		l.service.Log.Warn("the progress of the run is not kept", "run_id", l.run, "error", err)
	}
}
