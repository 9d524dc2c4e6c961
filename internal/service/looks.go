package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rehearse/internal/evaluation"
	"rehearse/internal/fleet"
	"rehearse/internal/runspec"
	"rehearse/internal/runspec/bundle"
	"rehearse/internal/setup"
	"rehearse/internal/source"
	"rehearse/internal/store"
)

// HoldLook has the look of a watch held as a run of that id, whose sessions are jobs for all workers, and returns when the run has ended, however it
// did. The names in spec are those of files on this disk. The run may have been submitted before, by this server or by another one.
func (s *Service) HoldLook(ctx context.Context, id string, spec runspec.Spec) error {
	run, err := s.Store.Run(ctx, id)
	if errors.Is(err, store.ErrUnknown) {
		run, err = s.submitLook(ctx, id, spec)
	}
	for err == nil && !run.Status.Ended() {
		if err = fleet.Pause(ctx, lookPoll); err == nil {
			run, err = s.Store.Run(ctx, id)
		}
		if store.Away(err) { // it comes back
			err = nil
		}
	}
	return err
}

// lookPoll is the time between two looks at a run that is waited for.
const lookPoll = 500 * time.Millisecond

// submitLook keeps the run of a look, with every file that it reads.
func (s *Service) submitLook(ctx context.Context, id string, spec runspec.Spec) (run store.Run, err error) {
	programs := false
	spec, _, err = bundle.Gather(spec, func(files source.Files, named runspec.Spec) (_ []string, err error) {
		own := s.rules(&spec)
		own.Files, own.Config, own.Dry = files, named.Config, true
		opened, err := setup.Open(own)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, opened.Close()) }()
		if err := evaluation.ReplayReads(ctx, opened, named); err != nil {
			return nil, err
		}
		_, err = evaluation.SubmittedReplay(opened, named)
		programs = opened.StartsPrograms()
		return nil, err
	})
	if err != nil {
		return run, err
	}
	if programs && s.Setup.NoCommands {
		return run, errors.New("it starts programs, which workers do only where server and workers have --allow-commands")
	}
	planned := Checked{Fingerprint: spec.Fingerprint()}
	planned.Suites, planned.Targets = []string{spec.Replay.FlowID}, []string{spec.Replay.VariantID, spec.Replay.BaselineID}
	n, err := s.newRun(spec, planned)
	if err != nil {
		return run, err
	}
	n.Run.ID = id
	if run, _, err = s.Store.CreateRun(ctx, n); err != nil {
		return run, fmt.Errorf("submit the look of watch %q: %w", spec.Replay.Look.Watch, err)
	}
	s.submitted()
	return run, nil
}

// rules are the options that a run is opened with. The look of a watch is the server's own run, which may name what the server itself may.
func (s *Service) rules(spec *runspec.Spec) setup.Options {
	o := s.Setup
	if spec.IsLook() {
		o.Submitted = nil
	}
	return o
}
