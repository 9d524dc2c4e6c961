package coordinator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/rehearse-dev/rehearse/internal/run/natsconn"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// export makes the folder of a run anew from what is stored. It reports whether there is anything.
func (s *Service) export(ctx context.Context, run store.Run) (resumed bool, err error) {
	dir := s.leadingDir(run.ID)
	if err := os.RemoveAll(dir); err != nil {
		return false, fmt.Errorf("the folder of the run: %w", err)
	}
	if run.Counts.Results == 0 {
		return false, nil
	}
	if err := s.writeLog(ctx, run.ID, dir); err != nil {
		return false, err
	}
	before := result.Run{Schema: result.Schema, ID: run.ID, StartedAt: run.CreatedAt, ExitReason: result.ReasonRunning}
	if run.StartedAt != nil {
		before.StartedAt = *run.StartedAt
		before.DurationMS = float64(s.Now().Sub(*run.StartedAt).Milliseconds())
	}
	return true, runlog.WriteRun(dir, before)
}

// end keeps how a run ended, and frees what NATS has of it. reported says that its reports are in its folder.
func (s *Service) end(ctx context.Context, id string, fence store.Fence, ended *result.Run, reported bool) {
	status := store.RunCompleted
	switch ended.ExitReason {
	case result.ReasonInterrupted:
		status = store.RunCancelled
	case result.ReasonBudget:
		status = store.RunPartial
	case result.ReasonAborted:
		status = store.RunFailed
	}
	kept := s.Metrics.Ending()
	for again := false; ; again = true { // a store that is away comes back, or the lease is lost
		err := s.keepRecord(ctx, id, fence, ended)
		if err == nil {
			err = s.ended(ctx, id, fence, status, ended)
		}
		if err == nil || again && errors.Is(err, store.ErrRunEnded) { // the end was kept before the store went away
			break
		}
		if !store.IsUnavailable(err) || natsconn.Pause(ctx, time.Second) != nil {
			s.Log.Warn("how the run ended is not kept", "run_id", id, "error", err)
			kept("")
			return
		}
	}
	s.setActive(id, false)
	kept(string(status))
	s.Log.Info("the run has ended", "run_id", id, "status", status, "exit_reason", ended.ExitReason, "exit_code",
		ended.Code())
	s.hasEnded()
	if reported {
		s.keepFiles(id)
	}
	if err := errors.Join(s.Queue.Purge(ctx, id), s.Conn.Forget(ctx, id), s.Conn.RunArtifacts(id).Drop(ctx),
		s.dropBundles(ctx, id)); err != nil && ctx.Err() == nil {
		s.Log.Warn("what NATS has of the run stays for a while", "run_id", id, "error", err)
	}
}

// ended keeps how a run ended.
func (s *Service) ended(ctx context.Context, id string, fence store.Fence, status store.RunStatus,
	ended *result.Run) error {
	_, err := s.Store.UpdateRun(ctx, id, fence, func(r *store.Run) error {
		r.Status, r.EndedAt = status, new(s.Now())
		r.Totals, r.PassRate = &ended.Totals, ended.PassRate
		r.ExitReason, r.ExitCode = &ended.ExitReason, new(ended.Code())
		r.Progress.Running = 0
		if ended.ExitMessage != "" {
			r.Error = &ended.ExitMessage
		}
		return nil
	})
	return err
}
