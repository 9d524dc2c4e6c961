package coordinator

import (
	"context"
	"time"

	"github.com/rehearse-dev/rehearse/internal/app/replayrun"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/run/natsconn"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// store keeps records for all servers.
func (l *activeRun) store(records []*result.Test, lines [][]byte) error {
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

// storeSessions keeps sessions that were replayed as results, for all servers: also those that were replayed when the
// run was cancelled.
func (l *activeRun) storeSessions(batch []replay.PairResult) error {
	var results []store.NewResult
	for i := range batch {
		for _, t := range replayrun.Records(batch[i].Outcome, replay.Candidate, l.target, time.Now()) {
			t.RunID = l.run
			l.heldBy(t.Key())
			results = append(results, store.NewResult{Test: t, Worker: batch[i].Worker})
		}
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
func (l *activeRun) known(sessions int) {
	_, err := l.service.Store.UpdateRun(l.ctx, l.run, l.fence, func(r *store.Run) error {
		r.Progress.Conversations = &sessions
		return nil
	})
	if err != nil && l.ctx.Err() == nil {
		l.service.Log.Warn("the number of sessions of the run is not kept", "run_id", l.run, "error", err)
	}
}

// put keeps results, and calls kept when they are. A store that is away is waited for.
func (l *activeRun) put(ctx context.Context, results []store.NewResult, kept func()) error {
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
		if err == nil || !store.IsUnavailable(err) {
			return err
		}
		if err := natsconn.Pause(ctx, time.Second); err != nil {
			return err
		}
	}
}
