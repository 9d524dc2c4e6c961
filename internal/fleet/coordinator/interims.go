package coordinator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rehearse-dev/rehearse/internal/app/replayrun"
	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/run/natsconn"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec/bundle"
)

// RunInterim has the look of a watch held as a run of that id, whose sessions are jobs for all workers, and returns
// when the run has ended, however it did. The names in spec are those of files on this disk. The run may have been
// submitted before, by this server or by another one.
func (s *Service) RunInterim(ctx context.Context, id string, spec runspec.Spec) error {
	submitted := false
	for began, told := s.Now(), false; ; {
		run, err := s.Store.Run(ctx, id)
		if errors.Is(err, store.ErrUnknown) && !submitted {
			run, err = s.submitLook(ctx, id, spec)
			submitted = err == nil
		}
		switch {
		case store.IsUnavailable(err): // it comes back
		case err != nil:
			return err
		case run.Status.Ended():
			return nil
		case !told && run.Progress.Done == 0 && s.Now().Sub(began) > lookSlow:
			told = true
			s.tellWaiting(ctx, run)
		}
		if err := natsconn.Pause(ctx, lookPoll); err != nil {
			return err
		}
	}
}

// lookPoll is the time between two looks at a run that is waited for, lookSlow how long none of its sessions may be
// held before the log says so.
const (
	lookPoll = 500 * time.Millisecond
	lookSlow = time.Minute
)

// tellWaiting says that nothing of a look is held yet, and how many workers there are.
func (s *Service) tellWaiting(ctx context.Context, run store.Run) {
	workers, err := s.Conn.Workers(ctx)
	s.Log.Warn("the look of a watch waits: none of its sessions is held yet", "watch", run.Name, "run_id", run.ID,
		"status", run.Status, "workers", len(workers), "error", err)
}

// submitLook keeps the run of a look, with every file that it reads.
func (s *Service) submitLook(ctx context.Context, id string, spec runspec.Spec) (run store.Run, err error) {
	programs := false
	spec, _, err = bundle.Gather(spec, func(files source.Files, named runspec.Spec) (_ []string, err error) {
		own := s.rules(&spec)
		own.Files, own.Config, own.Dry = files, named.Config, true
		opened, err := wire.Open(own)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, opened.Close()) }()
		if err := replayrun.Reads(ctx, opened, named); err != nil {
			return nil, err
		}
		_, err = replayrun.Submitted(opened, named)
		programs = opened.StartsPrograms()
		return nil, err
	})
	if err != nil {
		return run, err
	}
	if programs && s.Setup.NoCommands {
		return run,
			errors.New("it starts programs, which workers do only where server and workers have --allow-commands")
	}
	planned := Checked{Fingerprint: spec.Fingerprint()}
	planned.Suites, planned.Targets = []string{spec.Replay.FlowID},
		[]string{spec.Replay.VariantID, spec.Replay.BaselineID}
	n, err := s.newRun(spec, planned)
	if err != nil {
		return run, err
	}
	n.Run.ID = id
	if run, _, err = s.Store.CreateRun(ctx, n); err != nil {
		return run, fmt.Errorf("submit the look of watch %q: %w", spec.Replay.Interim.Watch, err)
	}
	s.submitted()
	return run, nil
}

// rules are the options that a run is opened with. The look of a watch is the server's own run, which may name what the
// server itself may.
func (s *Service) rules(spec *runspec.Spec) wire.Options {
	o := s.Setup
	if spec.IsInterim() {
		o.Submitted = nil
	}
	return o
}
