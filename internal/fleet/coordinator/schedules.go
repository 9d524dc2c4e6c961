package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/fleet/schedule"
	"github.com/rehearse-dev/rehearse/internal/run/natsconn"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// maxName bounds the name of a schedule, in bytes.
const maxName = 200

// FieldError says what of a schedule cannot be.
type FieldError struct {
	// Field is name, cron or timezone.
	Field string
	Err   error
}

func (e *FieldError) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong.
func (e *FieldError) Unwrap() error { return e.Err }

// AddSchedule keeps a schedule, whose spec is checked as that of a submission. A name, a cron expression or a time zone
// that cannot be is a *FieldError, a spec an *InvalidError; a name that is taken gives store.ErrExists.
func (s *Service) AddSchedule(ctx context.Context, name, expression, zone string, spec runspec.Spec,
	by Caller) (store.Schedule, error) {
	made := store.Schedule{Name: name, Cron: strings.TrimSpace(expression)}
	if err := checkName(name); err != nil {
		return made, err
	}
	if _, err := schedule.Parse("@every 1s", zone); err != nil {
		return made, &FieldError{"timezone", err}
	}
	times, err := schedule.Parse(expression, zone)
	if err != nil {
		return made, &FieldError{"cron", err}
	}
	if _, err := s.Check(ctx, spec, by); err != nil {
		return made, err
	}
	data, err := json.Marshal(spec)
	if err != nil {
		return made, err
	}
	_, now, err := s.Store.DueSchedules(ctx, 0)
	if err != nil {
		return made, err
	}
	made.Timezone, made.NextAt = times.Zone(), times.Next(now).Truncate(time.Microsecond)
	return made, s.Store.CreateSchedule(ctx, made, data, blobsOf(spec))
}

// checkName refuses names that cannot stand in a path.
func checkName(name string) error {
	plain := func(r rune) bool { return unicode.IsPrint(r) && r != '/' && r != '\\' }
	if name == "" || len(name) > maxName || name == "." || name == ".." || strings.TrimSpace(name) != name ||
		!utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !plain(r) }) {
		return &FieldError{
			"name",
			source.Invalid("the name of a schedule has 1 to %d bytes of printed characters and no slash", maxName),
		}
	}
	return nil
}

// RunSchedule submits a run of a schedule now, whether or not its last one goes on. A key counts as in Submit.
func (s *Service) RunSchedule(ctx context.Context, name, key string,
	by Caller) (run store.Run, created bool, err error) {
	spec, err := s.scheduled(ctx, name)
	if err != nil {
		return run, false, err
	}
	return s.create(ctx, spec, key, name, by)
}

// scheduled returns the spec of a schedule.
func (s *Service) scheduled(ctx context.Context, name string) (spec runspec.Spec, err error) {
	data, err := s.Store.ScheduleSpec(ctx, name)
	if err != nil {
		return spec, err
	}
	if spec, err = runspec.Read(data); err != nil {
		return spec, &InvalidError{Message: err.Error()}
	}
	return spec, nil
}

const (
	// tick is the time between two looks for schedules that are due, atOnce how many are looked at together.
	tick   = 300 * time.Millisecond
	atOnce = 100
	// settle is how long a server waits for the others, which may have been there, before it says that a time was
	// missed.
	settle = 5 * time.Second
	// behind is how far firings may lag before times are left out.
	behind = time.Minute
)

// keepSchedules fires what is due until ctx ends. All servers do; the store lets one of them fire each time.
func (s *Service) keepSchedules(ctx context.Context) {
	w := newWatch(s.Now)
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		w.run(ctx)
	}()
	defer func() { <-watching }()
	told := false
	for natsconn.Pause(ctx, tick) == nil {
		due, now, err := s.Store.DueSchedules(ctx, atOnce)
		if err != nil {
			if ctx.Err() == nil && !told {
				s.Log.Warn("the schedules cannot be read", "error", err)
			}
			told = true
			continue
		}
		told = false
		since, lasted := w.since(now)
		for _, one := range due {
			if one.NextAt.Before(since) && !s.Alone && lasted < settle {
				continue
			}
			err := s.fire(ctx, one, since, now)
			if err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrChanged) &&
				!errors.Is(err, store.ErrUnknown) {
				s.Log.Warn("the schedule could not be fired; it is tried again", "schedule", one.Name, "error", err)
			}
		}
		w.done()
	}
}

// fire does what a time asks for that has come. since is the time from which on servers were there.
func (s *Service) fire(ctx context.Context, one store.Schedule, since, now time.Time) error {
	times, err := schedule.Parse(one.Cron, one.Timezone)
	if err != nil { // of another version of the program
		return s.miss(ctx, one, one.NextAt, now.Add(time.Hour), err.Error())
	}
	if one.NextAt.Before(since) {
		next, last := times.NextFrom(one.NextAt, since)
		return s.miss(ctx, one, last, next, "no server was there")
	}
	next := times.Next(one.NextAt)
	if now.Sub(next) > behind {
		_, next = times.NextFrom(next, now)
		s.Log.Warn("firings are left out, as there is no time for all", "schedule", one.Name, "from",
			times.Next(one.NextAt), "until", next)
	}
	log := s.Log.With("schedule", one.Name, "at", one.NextAt)
	goesOn, err := s.goesOn(ctx, one.Name)
	if err != nil {
		return err
	}
	last := store.Firing{At: one.NextAt, Outcome: store.FiringSkipped}
	if goesOn {
		err = s.Store.FireSchedule(ctx, one.Name, one.NextAt, next, last, store.Fence{})
	} else {
		last, err = s.start(ctx, one, next)
	}
	switch {
	case err != nil:
		return err
	case last.Outcome == store.FiringSkipped:
		log.Warn("the schedule is skipped: its last run goes on", "outcome", last.Outcome)
	default:
		log.Info("the schedule has started a run", "outcome", last.Outcome, "run_id", last.RunID)
		s.submitted()
	}
	return nil
}

// miss notes that times went by, the last of them at a given one.
func (s *Service) miss(ctx context.Context, one store.Schedule, last, next time.Time, why string) error {
	err := s.Store.FireSchedule(ctx, one.Name, one.NextAt, next, store.Firing{At: last, Outcome: store.FiringMissed},
		store.Fence{})
	if err == nil {
		s.Log.Warn("the schedule was missed, which is not made up for", "schedule", one.Name, "at", one.NextAt,
			"outcome", store.FiringMissed, "last", last, "why", why)
	}
	return err
}

// goesOn reports whether a run of a schedule waits or goes on.
func (s *Service) goesOn(ctx context.Context, name string) (bool, error) {
	for _, status := range []store.RunStatus{store.RunRunning, store.RunQueued} {
		found, err := s.Store.Runs(ctx, store.RunFilter{Schedule: name, Status: status}, store.PageOf{Limit: 1})
		if err != nil || len(found.Items) > 0 {
			return true, err
		}
	}
	return false, nil
}

// start begins the run of a time. A spec that cannot be run any more gives a run that has failed, which says why.
func (s *Service) start(ctx context.Context, one store.Schedule, next time.Time) (last store.Firing, err error) {
	var planned Checked
	spec, err := s.scheduled(ctx, one.Name)
	if errors.Is(err, store.ErrUnknown) { // it was removed
		return last, err
	}
	if err == nil {
		planned, err = s.Check(ctx, spec, Caller{Commands: true}) // whoever added it was asked for that
	}
	if err != nil && (store.IsUnavailable(err) || ctx.Err() != nil) {
		return last, err
	}
	n, makeErr := s.newRun(spec, planned)
	if makeErr != nil {
		return last, makeErr
	}
	if err != nil {
		n.Failed, n.Run.Progress.Conversations = failedBecause(err), nil
	}
	last, err = s.Store.FireRun(ctx, one.Name, one.NextAt, next, n)
	if errors.Is(err, store.ErrQueueFull) {
		n.Failed = failedBecause(err)
		last, err = s.Store.FireRun(ctx, one.Name, one.NextAt, next, n)
	}
	if err == nil && n.Failed != "" && last.Outcome == store.FiringStarted {
		s.Log.Warn("the run of the schedule cannot be begun", "schedule", one.Name, "run_id", last.RunID,
			"error", n.Failed)
	}
	return last, err
}

// failedBecause says why a run could not be begun.
func failedBecause(err error) string {
	if found, ok := errors.AsType[*InvalidError](err); ok && len(found.Problems) > 0 {
		return found.Message + ": " + found.Problems[0].String()
	}
	return err.Error()
}
