package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
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

// follows reports whether a run may come from one status to the other. A run may be cancelled or fail before it has
// begun.
func (s RunStatus) follows(before RunStatus) bool {
	switch before {
	case RunQueued:
		return s == RunRunning || s == RunCancelled || s == RunFailed
	case RunRunning:
		return s.Ended()
	}
	return false
}

// Run is a run of a server. Its JSON is that of the API; what is nil is not known, or not yet.
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
	result.PassRate
	ExitReason *string `json:"exit_reason"`
	ExitCode   *int    `json:"exit_code"`
	Error      *string `json:"error"`

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
	// Passed, Failed, Errors, Skipped and Ungraded count tests: an aggregate over trials counts, and each trial does
	// not.
	Passed, Failed, Errors, Skipped, Ungraded int
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

func (r *runRow) scan(row scanner) error { return r.scanWith(row) }

// scanWith also scans columns behind runColumns.
func (r *runRow) scanWith(row scanner, more ...any) error {
	var body string
	var cancelAt *int64
	var done, passed, failed, broken, skipped int64
	columns := []any{&r.number, &body, &cancelAt, &r.lastSeq, &r.lastEvent, &done, &passed, &failed, &broken, &skipped}
	if err := row.Scan(append(columns, more...)...); err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(body), &r.Run); err != nil {
		return fmt.Errorf("a run in the store: %w", err)
	}
	if cancelAt != nil {
		r.CancelAt = new(time.UnixMicro(*cancelAt).UTC())
	}
	r.Progress.Done = int(done)
	r.Counts = RunCounts{
		Results: r.lastSeq, Passed: int(passed), Failed: int(failed), Errors: int(broken), Skipped: int(skipped),
	}
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
	row, err := f.runRow(ctx, f.db.page, id)
	return row.Run, f.db.explain(ctx, "read a run from", err)
}

// runRow reads a run, inside of a transaction or outside.
func (f *Fleet) runRow(ctx context.Context,
	read func(ctx context.Context, query string, args []any, scan func(scanner) error) error, id string,
) (row runRow, err error) {
	err = read(ctx, `SELECT `+runColumns+` FROM exp.fleet_runs WHERE id = $1`, []any{plainText(id)}, row.scan)
	if err == nil && row.number == 0 {
		err = f.noRun(id)
	}
	return row, err
}

func (f *Fleet) noRun(id string) error {
	return f.fault("look for a run in", fmt.Sprintf("there is no run %q", shortened(id)),
		"list the runs to see their ids", ErrUnknown)
}

// Spec returns the RunSpec with which the run was created.
func (f *Fleet) Spec(ctx context.Context, id string) (spec []byte, err error) {
	err = f.read(ctx, "read a run's spec from", `SELECT spec FROM exp.fleet_specs
		WHERE run = (SELECT number FROM exp.fleet_runs WHERE id = $1)`, []any{plainText(id)}, func(row scanner) error {
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
