package coordinator

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/rehearse-dev/rehearse/internal/app/evaluation"
	"github.com/rehearse-dev/rehearse/internal/fleet/worker"
	"github.com/rehearse-dev/rehearse/internal/run/natsconn"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// lead leads a run to its end, or until its lease is lost or ctx ends: then it goes on elsewhere.
func (s *Service) lead(ctx context.Context, cancels *natsconn.Cancels, id string, lease store.Lease) {
	log := s.Log.With("run_id", id)
	s.setActive(id, true)
	defer s.setActive(id, false)
	leading, lose := context.WithCancel(ctx)
	renewing := make(chan struct{})
	fence := lease.Fence()
	go func() {
		defer close(renewing)
		defer lose()
		s.renew(leading, &lease)
	}()
	cancelled, done := cancels.Context(leading, id)
	log.Info("the run is led here")
	ended, err := s.holdOn(cancelled, id, fence)
	cutOff := errors.Is(context.Cause(cancelled), natsconn.ErrCancelled)
	done()
	switch {
	case leading.Err() != nil:
		log.Info("the run is led no more here", "why", context.Cause(leading))
	case err != nil && cutOff: // before it had begun
		s.end(leading, id, fence, s.cutShort(leading, id, result.ExitInterrupted, result.ReasonInterrupted, ""), false)
	case err != nil:
		log.Warn("the run failed", "error", err)
		s.end(leading, id, fence, s.cutShort(leading, id, result.ExitNotRun, result.ReasonAborted, err.Error()), false)
	default:
		s.end(leading, id, fence, ended, true)
	}
	lose()
	<-renewing
	s.forgetOffers(id) // of a run that goes on elsewhere
	if err := s.Store.GiveUpLease(context.WithoutCancel(ctx), lease); err != nil &&
		!errors.Is(err, store.ErrLeaseLost) {
		log.Warn("the lease of the run stays until it runs out", "error", err)
	}
}

// renew keeps the lease until ctx ends, and returns when it is lost.
func (s *Service) renew(ctx context.Context, lease *store.Lease) {
	until := s.Now().Add(s.Lease)
	for natsconn.Pause(ctx, s.Lease/3) == nil {
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

// holdOn is hold, again and again while the store or NATS is away, a disk is full, or another server takes the returns
// that it does not lead any more.
func (s *Service) holdOn(ctx context.Context, id string, fence store.Fence) (*result.Run, error) {
	for told := ""; ; {
		ended, err := s.hold(ctx, id, fence)
		if !passes(err) || ctx.Err() != nil {
			return ended, err
		}
		if why := err.Error(); why != told {
			told = why
			s.Log.Warn("the run cannot go on for now and is tried again", "run_id", id, "error", err)
		}
		if err := natsconn.Pause(ctx, time.Second); err != nil {
			return nil, err
		}
	}
}

// passes reports whether an error comes from a store that is away, from a disk that is full, or from a server that was
// suspended and receives for a moment what is not its own any more: the lease says who leads. Other networks than that
// of the store are none of it.
func passes(err error) bool {
	_, stored := errors.AsType[*store.Error](err)
	return stored && store.IsUnavailable(err) || errors.Is(err, natsconn.ErrDisplaced) || natsconn.Unwritten(err) ||
		errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
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
	if run.Kind == runspec.KindReplay {
		return s.replay(ctx, run, fence)
	}
	spec, payload, err := s.offer(ctx, id)
	if err != nil {
		return nil, err
	}
	opened, err := worker.Unpack(ctx, s.Dir, spec, nil, s.Setup)
	if err != nil {
		return nil, err
	}
	defer func() { err = opened.Masked(errors.Join(err, opened.Close())) }()
	resumed, err := s.export(ctx, run)
	if err != nil {
		return nil, err
	}
	returns, err := s.Conn.Lead(ctx, id)
	if err != nil {
		return nil, err
	}
	defer returns.Close()
	l, err := newActiveRun(ctx, s, id, payload.Bundle, fence, returns)
	if err != nil {
		return nil, err
	}
	if err := l.keepArtifacts(spec, opened.Setup); err != nil {
		return nil, err
	}
	defer l.arrived(nil)
	quiet, err := s.Conn.Notices(id, l.notice)
	if err != nil {
		return nil, err
	}
	defer quiet()
	defer l.group.Wait()
	var over context.CancelFunc
	l.passing, over = context.WithCancel(ctx)
	defer over()
	spec.Files = nil
	if spec.Baseline != "" {
		if spec.Baseline, err = s.Files(ctx, spec.Baseline); err != nil {
			return nil, fmt.Errorf("the baseline: %w", err)
		}
	}
	concluding, c, err := worker.Planned(evaluation.Config{
		Setup: opened.Setup, Spec: spec, Out: s.leadingDir(id), Resume: resumed, Version: s.Version,
		Formats: []string{"html", "md", "junit"}, Sink: l, Quarantines: s.Store.Annotations().Quarantines,
		Fleet: &evaluation.Fleet{
			RunID: id, Queue: l, Returns: l, Payload: payload.with, Window: s.window(ctx), Store: l.store,
			Durations: l.durations,
		},
	})
	if err != nil {
		return nil, err
	}
	e, err := evaluation.New(ctx, c)
	if err != nil {
		return nil, err
	}
	h, err := e.Run(ctx)
	if err != nil {
		return nil, err
	}
	err = conclude(e, h, concluding)
	if passes(h.Cause) {
		err = errors.Join(h.Cause, err)
	}
	return &h.Run, err
}

// conclude has the kind of a run decide how it ended, and writes its reports.
func conclude(e *evaluation.Evaluation, h *evaluation.Completed, concluding worker.Concluding) error {
	reports, undecided := concluding.Decide(&h.Run, h.Dir)
	if undecided != nil {
		h.Run.Ended(result.ExitNotRun, result.ReasonAborted)
		h.Run.ExitMessage = undecided.Error()
	}
	if _, err := e.Conclude(h); err != nil || undecided != nil {
		return err
	}
	return reports()
}

// spec returns the spec of a run as it was submitted.
func (s *Service) spec(ctx context.Context, id string) (spec runspec.Spec, err error) {
	data, err := s.Store.Spec(ctx, id)
	if err != nil {
		return spec, err
	}
	return runspec.Read(data)
}

// offer puts the spec, with the content of every file, where workers get it. It returns the spec and what jobs carry.
func (s *Service) offer(ctx context.Context, id string) (spec runspec.Spec, p payload, err error) {
	if spec, err = s.spec(ctx, id); err != nil {
		return spec, p, err
	}
	for name, f := range spec.Files {
		if f.SHA256 == "" {
			continue
		}
		content, err := s.Store.Blob(ctx, f.SHA256)
		if err != nil {
			return spec, p, fmt.Errorf("the file %s of the run: %w", name, err)
		}
		spec.Files[name] = runspec.File{Content: content}
	}
	data, err := json.Marshal(spec)
	if err != nil {
		return spec, p, err
	}
	sum := sha256.Sum256(data)
	p.Bundle, p.Submitted, p.Own = hex.EncodeToString(sum[:]), *s.Setup.Submitted, spec.IsInterim()
	s.offering(id, p.Bundle)
	return spec, p, s.Conn.PutBundle(ctx, p.Bundle, bytes.NewReader(data))
}

// payload is what the jobs of a run carry.
type payload worker.Payload

// with returns it for a run whose span has a traceparent.
func (p payload) with(traceparent string) ([]byte, error) {
	p.Traceparent = traceparent
	return json.Marshal(worker.Payload(p))
}

// window returns how many conversations of a run are queued or held at once: at least Window, and twice as many as all
// workers have places, so that none of them waits for the leader.
func (s *Service) window(ctx context.Context) int {
	workers, err := s.Conn.Workers(ctx)
	if err != nil {
		s.Log.Warn("it is not known how many workers there are", "error", err)
	}
	places := 0
	for _, w := range workers {
		places += w.Workers
	}
	return min(max(s.Window, 2*places), mostWindow)
}
