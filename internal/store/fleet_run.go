package store

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"rehearse/internal/result"
)

// RunStatus says how far a run of a server is.
type RunStatus string

// The life of a run: queued, running, and one of the others.
const (
	RunQueued    RunStatus = "queued"
	RunRunning   RunStatus = "running"
	RunCompleted RunStatus = "completed"
	RunFailed    RunStatus = "failed"
	RunCancelled RunStatus = "cancelled"
	RunPartial   RunStatus = "partial"
)

// RunStatuses returns all statuses.
func RunStatuses() []RunStatus {
	return []RunStatus{RunQueued, RunRunning, RunCompleted, RunFailed, RunCancelled, RunPartial}
}

// Ended reports whether the status is final.
func (s RunStatus) Ended() bool {
	return s == RunCompleted || s == RunFailed || s == RunCancelled || s == RunPartial
}

// follows reports whether a run may come from one status to the other. A run may be cancelled or fail before it has begun.
func (s RunStatus) follows(before RunStatus) bool {
	switch before {
	case RunQueued:
		return s == RunRunning || s == RunCancelled || s == RunFailed
	case RunRunning:
		return s.Ended()
	}
	return false
}

// Run is a run of a server. Its JSON is that of the API (service.md 3.2); what is nil is not known, or not yet.
type Run struct {
	ID          string            `json:"id"`
	Schema      int               `json:"schema"`
	Kind        string            `json:"kind"`
	Name        string            `json:"name"`
	Status      RunStatus         `json:"status"`
	Labels      map[string]string `json:"labels"`
	Schedule    *string           `json:"schedule"`
	Fingerprint string            `json:"fingerprint"`
	Suites      []string          `json:"suites"`
	Targets     []string          `json:"targets"`
	CreatedAt   time.Time         `json:"created_at"`
	StartedAt   *time.Time        `json:"started_at"`
	EndedAt     *time.Time        `json:"ended_at"`
	Progress    RunProgress       `json:"progress"`
	Totals      *result.Totals    `json:"totals"`
	PassRate    *float64          `json:"pass_rate"`
	Interval    *[2]float64       `json:"pass_rate_interval"`
	ExitReason  *string           `json:"exit_reason"`
	ExitCode    *int              `json:"exit_code"`
	Error       *string           `json:"error"`

	// CancelAt is when the end of the run was asked for; nil if it was not.
	CancelAt *time.Time `json:"-"`
	// Counts counts the results that are stored. The store keeps it.
	Counts RunCounts `json:"-"`
}

// RunProgress says how far a run is, in conversations.
type RunProgress struct {
	// Conversations is how many the run sets out to hold; nil until it has been planned.
	Conversations *int `json:"conversations"`
	// Done is how many are held and stored. The store keeps it.
	Done int `json:"done"`
	// Running is how many are under way, as the leader said last.
	Running int `json:"running"`
}

// RunCounts counts the stored results of a run.
type RunCounts struct {
	// Results is the seq of the last one.
	Results int64
	// Passed, Failed, Errors and Skipped count tests: an aggregate over trials counts, and each trial does not.
	Passed, Failed, Errors, Skipped int
}

// Fence makes a write happen only while a lease holds. The zero value demands nothing.
type Fence struct {
	Lease  string
	Number int64
}

// runRow is a run with what the store keeps beside it.
type runRow struct {
	Run
	number             int64
	lastSeq, lastEvent int64
}

// runColumns are in the order in which scan reads them.
const runColumns = `number, body, cancel_at, last_seq, last_event, done, passed, failed, errors, skipped`

func (r *runRow) scan(row fleetRow) error {
	var body string
	var cancelAt *int64
	var done, passed, failed, broken, skipped int64
	if err := row.Scan(&r.number, &body, &cancelAt, &r.lastSeq, &r.lastEvent, &done, &passed, &failed, &broken, &skipped); err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(body), &r.Run); err != nil {
		return fmt.Errorf("a run in the store: %w", err)
	}
	if cancelAt != nil {
		r.CancelAt = new(time.UnixMicro(*cancelAt).UTC())
	}
	r.Progress.Done = int(done)
	r.Counts = RunCounts{Results: r.lastSeq, Passed: int(passed), Failed: int(failed), Errors: int(broken), Skipped: int(skipped)}
	return nil
}

// encode returns the run as JSON, for its row and for events.
func (r *Run) encode() (string, error) {
	if r.Labels == nil {
		r.Labels = map[string]string{}
	}
	r.Suites, r.Targets = slices.Clone(r.Suites), slices.Clone(r.Targets)
	for _, list := range []*[]string{&r.Suites, &r.Targets} {
		if *list == nil {
			*list = []string{}
		}
	}
	for _, at := range []*time.Time{&r.CreatedAt, r.StartedAt, r.EndedAt} {
		if at != nil {
			*at = at.UTC().Truncate(time.Microsecond)
		}
	}
	body, err := json.Marshal(r)
	if err != nil {
		return "", err
	}
	text, _ := plainJSON(body)
	return text, nil
}

// Run returns the run with the id; without one the error is ErrUnknown.
func (f *Fleet) Run(ctx context.Context, id string) (Run, error) {
	row, err := f.runRow(ctx, f.db.read, id)
	return row.Run, f.db.explain(ctx, "read a run from", err)
}

// runRow reads a run, inside of a transaction or outside.
func (f *Fleet) runRow(ctx context.Context,
	read func(ctx context.Context, query string, args []any, scan func(fleetRow) error) error, id string,
) (row runRow, err error) {
	err = read(ctx, `SELECT `+runColumns+` FROM exp.fleet_runs WHERE id = $1`, []any{plainText(id)}, row.scan)
	if err == nil && row.number == 0 {
		err = f.noRun(id)
	}
	return row, err
}

func (f *Fleet) noRun(id string) error {
	return f.fault("look for a run in", fmt.Sprintf("there is no run %q", shortened(id)), "list the runs to see their ids", ErrUnknown)
}

// Spec returns the RunSpec with which the run was created.
func (f *Fleet) Spec(ctx context.Context, id string) (spec []byte, err error) {
	err = f.read(ctx, "read a run's spec from", `SELECT spec FROM exp.fleet_specs
		WHERE run = (SELECT number FROM exp.fleet_runs WHERE id = $1)`, []any{plainText(id)}, func(row fleetRow) error {
		var packed []byte
		if err := row.Scan(&packed); err != nil {
			return err
		}
		spec, err = unpack(packed)
		return err
	})
	if err == nil && spec == nil {
		err = f.noRun(id)
	}
	return spec, err
}

// UpdateRun changes a run: it hands the run to change, and writes what change has made of it. change decides by the run's status, as nobody else
// can change the run meanwhile; its error undoes everything and is returned as it is. change must not use the store, nor take
// seconds.
//
// A change of the status is an event; a final status is the last one, with the event end. What does not follow from the status, such as from
// running to queued, is refused with ErrChanged, everything about a run that has ended with ErrRunEnded, and everything with ErrLeaseLost
// if the fence does not hold. ID, Schema, Kind, Schedule, Fingerprint, CreatedAt, CancelAt and what the store counts stay as they are.
// An end without EndedAt ends now.
func (f *Fleet) UpdateRun(ctx context.Context, id string, fence Fence, change func(*Run) error) (Run, error) {
	var after Run
	var refused error // by change, which is not the store's fault
	err := f.write(ctx, "write a run to", func(tx fleetTx) error {
		before, err := f.lockRun(ctx, tx, id, fence)
		if err != nil {
			return err
		}
		next := before
		next.Run = copyRun(before.Run)
		if refused = change(&next.Run); refused != nil {
			return refused
		}
		if err := f.keepRun(ctx, tx, &before, &next); err != nil {
			return err
		}
		after = next.Run
		return nil
	})
	if refused != nil {
		return Run{}, refused
	}
	return after, err
}

// lockRun reads a run that nobody else changes until the transaction ends, if the fence holds.
func (f *Fleet) lockRun(ctx context.Context, tx fleetTx, id string, fence Fence) (row runRow, err error) {
	if err := f.demand(ctx, tx, fence); err != nil {
		return row, err
	}
	if err := tx.lock(ctx, "run "+plainText(id)); err != nil {
		return row, err
	}
	if row, err = f.runRow(ctx, tx.read, id); err != nil {
		return row, err
	}
	if row.Status.Ended() {
		err = f.fault("write a run to", fmt.Sprintf("run %s has ended as %s", shortened(id), row.Status), "start another run", ErrRunEnded)
	}
	return row, err
}

// copyRun returns a run whose words are its own, so that it can be told what has changed.
func copyRun(r Run) Run {
	r.Labels, r.Suites, r.Targets = maps.Clone(r.Labels), slices.Clone(r.Suites), slices.Clone(r.Targets)
	return r
}

// keepRun writes what a run has become, with its events.
func (f *Fleet) keepRun(ctx context.Context, tx fleetTx, before, next *runRow) error {
	moved := next.Status != before.Status
	if moved && !next.Status.follows(before.Status) {
		return f.fault("write a run to", fmt.Sprintf("run %s is %s and cannot become %q", before.ID, before.Status, next.Status),
			"read the run again", ErrChanged)
	}
	now, err := tx.now(ctx)
	if err != nil {
		return err
	}
	next.ID, next.Schema, next.Kind, next.Schedule, next.Fingerprint = before.ID, before.Schema, before.Kind, before.Schedule, before.Fingerprint
	next.CreatedAt, next.Progress.Done = before.CreatedAt, before.Progress.Done
	ended := moved && next.Status.Ended()
	if ended {
		if next.EndedAt == nil {
			next.EndedAt = &now
		}
		next.Progress.Running = 0
	}
	body, err := next.encode()
	if err != nil {
		return err
	}
	if moved {
		if err := addEvents(ctx, tx, next, body, ended); err != nil {
			return err
		}
	}
	if _, err := tx.exec(ctx, `UPDATE exp.fleet_runs SET status = $2, name = $3, ended_at = $4, body = $5, last_event = $6 WHERE number = $1`,
		next.number, string(next.Status), word(next.Name), microsOf(next.EndedAt), body, next.lastEvent); err != nil {
		return err
	}
	if !slices.Equal(before.Suites, next.Suites) || !slices.Equal(before.Targets, next.Targets) || !maps.Equal(before.Labels, next.Labels) {
		if _, err := tx.exec(ctx, `DELETE FROM exp.fleet_words WHERE run = $1`, next.number); err != nil {
			return err
		}
		if err := addWords(ctx, tx, next); err != nil {
			return err
		}
	}
	if !ended {
		return nil
	}
	if _, err := tx.exec(ctx, `INSERT INTO exp.fleet_endings (run) VALUES ($1)`, next.number); err != nil {
		return err
	}
	return countDurations(ctx, tx, next.number, 1)
}

// CancelRun asks for the end of a run. One that waits ends at once as cancelled; of one that goes on CancelAt is set, and whoever leads it ends
// it. Asking again changes nothing. A run that has ended is refused with ErrRunEnded.
func (f *Fleet) CancelRun(ctx context.Context, id string) (Run, error) {
	var after Run
	err := f.write(ctx, "cancel a run in", func(tx fleetTx) error {
		before, err := f.lockRun(ctx, tx, id, Fence{})
		if err != nil {
			return err
		}
		next := before
		if before.CancelAt == nil {
			now, err := tx.now(ctx)
			if err != nil {
				return err
			}
			next.CancelAt = new(now.UTC().Truncate(time.Microsecond))
			if _, err := tx.exec(ctx, `UPDATE exp.fleet_runs SET cancel_at = $2 WHERE number = $1`, before.number, micros(now)); err != nil {
				return err
			}
		}
		if before.Status == RunQueued {
			next.Status, next.ExitReason, next.ExitCode = RunCancelled, new(result.ReasonInterrupted), new(result.ExitInterrupted)
			if next.Totals, err = unheldTotals(ctx, tx, before.number); err != nil {
				return err
			}
			if err := f.keepRun(ctx, tx, &before, &next); err != nil {
				return err
			}
		}
		after = next.Run
		return nil
	})
	return after, err
}
