package coordinator

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/app/evaluation"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// Submit keeps a run, which is begun when it is its turn. A key that the caller used within a day gives the run that it
// was used for; created is false then. With another spec it is store.ErrOtherSubmission.
func (s *Service) Submit(ctx context.Context, spec runspec.Spec, key string,
	by Caller) (run store.Run, created bool, err error) {
	return s.create(ctx, spec, key, "", by)
}

// create keeps a run of a schedule, or of none.
func (s *Service) create(ctx context.Context, spec runspec.Spec, key, schedule string,
	by Caller) (run store.Run, created bool, err error) {
	planned, err := s.Check(ctx, spec, by)
	if err != nil {
		return run, false, err
	}
	n, err := s.newRun(spec, planned)
	if err != nil {
		return run, false, err
	}
	n.Key, n.By = key, by.ID
	submitted := n.Spec
	if schedule != "" { // the request names the schedule alone, whose spec may change
		n.Run.Schedule, submitted = &schedule, []byte("schedule "+schedule)
	}
	n.Hash = fmt.Sprintf("%x", sha256.Sum256(submitted))
	if run, created, err = s.Store.CreateRun(ctx, n); err != nil {
		return run, false, err
	}
	s.submitted()
	return run, created, nil
}

// submitted has waiting runs looked for.
func (s *Service) submitted() {
	select {
	case s.news <- struct{}{}:
	default: // there is a signal already
	}
}

// newRun returns what is kept of a run that was checked.
func (s *Service) newRun(spec runspec.Spec, planned Checked) (n store.NewRun, err error) {
	data, err := json.Marshal(spec)
	if err != nil {
		return n, err
	}
	progress := store.RunProgress{Conversations: &planned.Conversations}
	if spec.Kind == runspec.KindReplay { // it is known once the log has been read
		progress.Conversations = nil
	}
	var unheld result.Run
	unheld.Count(&result.Tallies{}, planned.ByTarget)
	return store.NewRun{
		Run: store.Run{
			ID: evaluation.RunID(s.Now()), Schema: runspec.Schema, Kind: cmp.Or(spec.Kind, "suite"), Name: spec.Name,
			Labels: spec.Labels, Fingerprint: planned.Fingerprint, Suites: planned.Suites, Targets: planned.Targets,
			Progress: progress,
		},
		Spec: data, Blobs: blobsOf(spec), MaxWaiting: maxWaiting, Unheld: &unheld.Totals,
	}, nil
}

// Cancel ends a run. Conversations under way are cut off within a second; what was finished stays.
func (s *Service) Cancel(ctx context.Context, id string) (store.Run, error) {
	ended := s.Metrics.Ending()
	run, err := s.Store.CancelRun(ctx, id)
	switch {
	case err != nil:
		ended("")
	case run.Status.Ended(): // it waited, and nobody led it
		ended(string(run.Status))
	default:
		ended("")
		err = s.Conn.Cancel(ctx, id)
	}
	return run, err
}
