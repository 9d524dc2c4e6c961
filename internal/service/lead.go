package service

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"rehearse/internal/evaluation"
	"rehearse/internal/fleet"
	"rehearse/internal/orchestrator"
	"rehearse/internal/result"
	"rehearse/internal/runlog"
	"rehearse/internal/runspec"
	"rehearse/internal/store"
	"rehearse/internal/worker"
)

// RunDir returns the folder in which a leader keeps the log and the reports of a run.
func (s *Service) RunDir(id string) string { return filepath.Join(s.Dir, "runs", id) }

// lead leads a run to its end, or until its lease is lost or ctx ends: then it goes on elsewhere.
func (s *Service) lead(ctx context.Context, cancels *fleet.Cancels, id string, lease store.Lease) {
	log := s.Log.With("run_id", id)
	leading, lose := context.WithCancel(ctx)
	renewing := make(chan struct{})
	fence := lease.Fence()
	go func() {
		defer close(renewing)
		defer lose()
		s.renew(leading, &lease)
	}()
	cancelled, done := cancels.Context(leading, id)
	ended, err := s.hold(cancelled, id, fence)
	cutOff := errors.Is(context.Cause(cancelled), fleet.ErrCancelled)
	done()
	switch {
	case leading.Err() != nil:
		log.Info("the run is led no more here", "why", context.Cause(leading))
		ended = nil
	case err != nil && cutOff: // before it had begun
		ended = &result.Run{}
		ended.Ended(result.ExitInterrupted, result.ReasonInterrupted)
	case err != nil:
		log.Warn("the run failed", "error", err)
		ended = failure(err)
	}
	if ended != nil {
		s.end(leading, id, fence, ended)
	}
	lose()
	<-renewing
	if err := s.Store.GiveUpLease(context.WithoutCancel(ctx), lease); err != nil && !errors.Is(err, store.ErrLeaseLost) {
		log.Warn("the lease of the run stays until it runs out", "error", err)
	}
}

// renew keeps the lease until ctx ends, and returns when it is lost.
func (s *Service) renew(ctx context.Context, lease *store.Lease) {
	until := s.Now().Add(s.Lease)
	for fleet.Pause(ctx, s.Lease/3) == nil {
		asked := s.Now()
		renewed, err := s.Store.RenewLease(ctx, *lease, s.Lease)
		switch {
		case err == nil:
			*lease, until = renewed, asked.Add(s.Lease)
		case errors.Is(err, store.ErrLeaseLost) || s.Now().After(until):
			return
		}
	}
}

// failure is how a run ended that could not be begun or led.
func failure(err error) *result.Run {
	r := &result.Run{ExitMessage: err.Error()}
	r.Ended(result.ExitNotRun, result.ReasonAborted)
	return r
}

// hold has the conversations of a run held that have no result yet.
func (s *Service) hold(ctx context.Context, id string, fence store.Fence) (_ *result.Run, err error) {
	run, err := s.Store.UpdateRun(ctx, id, fence, func(r *store.Run) error {
		if r.Status == store.RunQueued {
			r.Status, r.StartedAt = store.RunRunning, new(s.Now())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	spec, payload, err := s.offer(ctx, id)
	if err != nil {
		return nil, err
	}
	opened, err := worker.Unpack(ctx, s.Dir, spec, nil, s.Setup)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	resumed, err := s.export(ctx, run)
	if err != nil {
		return nil, err
	}
	returns, err := s.Conn.Lead(ctx, id)
	if err != nil {
		return nil, err
	}
	defer returns.Close()
	l := &led{
		service: s, ctx: ctx, run: id, fence: fence, returns: returns, workers: map[result.Key]string{}, out: map[result.Key]orchestrator.Job{},
		in: make(chan orchestrator.Return, 64),
	}
	defer l.group.Wait()
	var over context.CancelFunc
	l.passing, over = context.WithCancel(ctx)
	defer over()
	spec.Files = nil
	e, err := evaluation.New(ctx, evaluation.Config{
		Setup: opened.Setup, Spec: spec, Out: s.RunDir(id), Resume: resumed, Version: s.Version, Formats: []string{"html", "md", "junit"}, Sink: l,
		Fleet: &evaluation.Fleet{RunID: id, Queue: l, Returns: l, Payload: payload, Window: s.Window, Store: l.store},
	})
	if err != nil {
		return nil, err
	}
	h, err := e.Hold(ctx)
	if err != nil {
		return nil, err
	}
	_, err = e.Conclude(h)
	return &h.Run, err
}

// offer puts the spec, with the content of every file, where workers get it. It returns the spec and what jobs carry.
func (s *Service) offer(ctx context.Context, id string) (spec runspec.Spec, payload []byte, err error) {
	data, err := s.Store.Spec(ctx, id)
	if err != nil {
		return spec, nil, err
	}
	if spec, err = runspec.Read(data); err != nil {
		return spec, nil, err
	}
	for name, f := range spec.Files {
		if f.SHA256 == "" {
			continue
		}
		content, err := s.Store.Blob(ctx, f.SHA256)
		if err != nil {
			return spec, nil, fmt.Errorf("the file %s of the run: %w", name, err)
		}
		spec.Files[name] = runspec.File{Content: content}
	}
	if data, err = json.Marshal(spec); err != nil {
		return spec, nil, err
	}
	sum := sha256.Sum256(data)
	p := worker.Payload{Bundle: hex.EncodeToString(sum[:])}
	if err := s.Conn.PutBundle(ctx, p.Bundle, bytes.NewReader(data)); err != nil {
		return spec, nil, err
	}
	payload, err = json.Marshal(p)
	return spec, payload, err
}

// export makes the folder of a run anew from what is stored. It reports whether there is anything.
func (s *Service) export(ctx context.Context, run store.Run) (resumed bool, err error) {
	dir := s.RunDir(run.ID)
	if err := os.RemoveAll(dir); err != nil {
		return false, fmt.Errorf("the folder of the run: %w", err)
	}
	if run.Counts.Results == 0 {
		return false, nil
	}
	log, err := runlog.Open(dir)
	if err != nil {
		return false, err
	}
	for r, err := range s.Store.AllResults(ctx, run.ID, store.ResultFilter{}) {
		if err == nil {
			err = log.Write(r.Record)
		}
		if err != nil {
			return false, errors.Join(err, log.Close())
		}
	}
	if err := log.Close(); err != nil {
		return false, err
	}
	before := result.Run{Schema: result.Schema, ID: run.ID, StartedAt: run.CreatedAt, ExitReason: result.ReasonRunning}
	if run.StartedAt != nil {
		before.StartedAt = *run.StartedAt
		before.DurationMS = float64(s.Now().Sub(*run.StartedAt).Milliseconds())
	}
	return true, runlog.WriteRun(dir, before)
}

// end keeps how a run ended, and frees what NATS has of it.
func (s *Service) end(ctx context.Context, id string, fence store.Fence, ended *result.Run) {
	status := store.RunCompleted
	switch ended.ExitReason {
	case result.ReasonInterrupted:
		status = store.RunCancelled
	case result.ReasonBudget:
		status = store.RunPartial
	case result.ReasonAborted:
		status = store.RunFailed
	}
	for { // a store that is away comes back, or the lease is lost
		_, err := s.Store.UpdateRun(ctx, id, fence, func(r *store.Run) error {
			r.Status, r.EndedAt = status, new(s.Now())
			r.Totals, r.PassRate, r.Interval = &ended.Totals, ended.PassRate, ended.Interval
			r.ExitReason, r.ExitCode = &ended.ExitReason, new(ended.Code())
			r.Progress.Running = 0
			if ended.ExitMessage != "" {
				r.Error = &ended.ExitMessage
			}
			return nil
		})
		if err == nil {
			break
		}
		if !store.Away(err) || fleet.Pause(ctx, time.Second) != nil {
			s.Log.Warn("how the run ended is not kept", "run_id", id, "error", err)
			return
		}
	}
	if err := errors.Join(s.Queue.Purge(ctx, id), s.Conn.Forget(ctx, id)); err != nil && ctx.Err() == nil {
		s.Log.Warn("what NATS has of the run stays for a while", "run_id", id, "error", err)
	}
}
