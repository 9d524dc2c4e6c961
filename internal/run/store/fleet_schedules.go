package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Schedule says when which run begins.
type Schedule struct {
	Name string `json:"name"`
	// Cron has five fields, or is "@every D"; the store keeps it as it is. Timezone is empty for UTC.
	Cron     string    `json:"cron"`
	Timezone string    `json:"timezone"`
	NextAt   time.Time `json:"next_at"`
	// Last is nil before the first firing.
	Last *Firing `json:"last"`
}

// Firing says what became of a time of a schedule.
type Firing struct {
	At      time.Time     `json:"at"`
	Outcome FiringOutcome `json:"outcome"`
	// RunID is the run that was started; empty without one.
	RunID string `json:"run_id,omitempty"`
}

// FiringOutcome is what became of a time of a schedule.
type FiringOutcome string

// The outcomes: a run began, the last run still went on, or no server was there.
const (
	FiringStarted FiringOutcome = "started"
	FiringSkipped FiringOutcome = "skipped"
	FiringMissed  FiringOutcome = "missed"
)

func (s *Schedule) encode() (string, error) {
	s.NextAt = s.NextAt.UTC().Truncate(time.Microsecond)
	if s.Last != nil {
		last := *s.Last
		last.At = last.At.UTC().Truncate(time.Microsecond)
		s.Last = &last
	}
	body, err := json.Marshal(s)
	text, _ := plainJSON(body)
	return text, err
}

// CreateSchedule keeps a new schedule with the RunSpec of its runs and the hashes of the blobs that the spec needs. It
// refuses with ErrExists a name that is taken, and with a *MissingBlobsError.
func (f *Fleet) CreateSchedule(ctx context.Context, s Schedule, spec []byte, blobs []string) error {
	check := rowCheck{what: "schedule", id: s.Name}
	check.key("name", s.Name)
	body, err := s.encode()
	if check.err != nil || err != nil {
		return firstError(check.err, err)
	}
	name, packed := plainText(s.Name), f.packers.pack(spec)
	return f.write(ctx, "write a schedule to", func(tx transaction) error {
		n, err := tx.exec(ctx, `INSERT INTO exp.fleet_schedules (name, next_at, body, spec) VALUES ($1, $2, $3, $4) ON CONFLICT (name) DO NOTHING`,
			name, micros(s.NextAt), body, packed)
		if err != nil {
			return err
		}
		if n == 0 {
			return f.fault("write a schedule to", fmt.Sprintf("there is a schedule %q already", shortened(name)),
				"remove it first, or take another name", ErrExists)
		}
		return f.useBlobs(ctx, tx, scheduleOwner(name), blobs)
	})
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func scanSchedule(row scanner) (s Schedule, err error) {
	var body string
	if err := row.Scan(&body); err != nil {
		return s, err
	}
	if err = json.Unmarshal([]byte(body), &s); err != nil {
		err = fmt.Errorf("a schedule in the store: %w", err)
	}
	return s, err
}

// Schedule returns the schedule with the name; without one the error is ErrUnknown.
func (f *Fleet) Schedule(ctx context.Context, name string) (Schedule, error) {
	found, err := list(ctx, f, "read a schedule from", `SELECT body FROM exp.fleet_schedules WHERE name = $1`,
		[]any{plainText(name)}, scanSchedule)
	if err == nil && len(found) == 0 {
		err = f.noSchedule(name)
	}
	if err != nil {
		return Schedule{}, err
	}
	return found[0], nil
}

func (f *Fleet) noSchedule(name string) error {
	return f.fault("look for a schedule in", fmt.Sprintf("there is no schedule %q", shortened(name)),
		"list the schedules to see their names", ErrUnknown)
}

// Schedules returns a page of schedules in the byte order of their names.
func (f *Fleet) Schedules(ctx context.Context, page PageOf) (Page[Schedule], error) {
	return namePage(ctx, f, "schedules", page,
		`SELECT body FROM exp.fleet_schedules WHERE name > $1 ORDER BY name LIMIT $2`,
		scanSchedule, func(s Schedule) string { return s.Name })
}

// namePage reads a page of rows in the order of their names.
func namePage[T any](ctx context.Context, f *Fleet, kind string, page PageOf, query string,
	scan func(scanner) (T, error), name func(T) string) (Page[T], error) {
	after, err := page.after(f, kind)
	if err != nil {
		return Page[T]{}, err
	}
	limit := page.limit()
	items, err := list(ctx, f, "read "+kind+" from", query, []any{after, int64(limit + 1)}, scan)
	if err != nil {
		return Page[T]{}, err
	}
	return newPage(items, limit, func(last T) *string { return newCursor(kind, name(last)) }), nil
}

// DueSchedules returns the schedules whose NextAt has come by the store's clock, with that time, the longest due first,
// at most so many.
func (f *Fleet) DueSchedules(ctx context.Context, limit int) (due []Schedule, now time.Time, err error) {
	if now, err = f.now(ctx); err != nil {
		return nil, now, err
	}
	due, err = list(ctx, f, "read schedules from",
		`SELECT body FROM exp.fleet_schedules WHERE next_at <= $1 ORDER BY next_at, name LIMIT $2`,
		[]any{micros(now), int64(limit)}, scanSchedule)
	return due, now.UTC(), err
}

// ScheduleSpec returns the RunSpec of a schedule.
func (f *Fleet) ScheduleSpec(ctx context.Context, name string) ([]byte, error) {
	found, err := list(ctx, f, "read a schedule from", `SELECT spec FROM exp.fleet_schedules WHERE name = $1`,
		[]any{plainText(name)},
		func(row scanner) (spec []byte, err error) {
			var packed []byte
			if err := row.Scan(&packed); err != nil {
				return nil, err
			}
			return unpack(packed)
		})
	if err == nil && len(found) == 0 {
		err = f.noSchedule(name)
	}
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// DeleteSchedule deletes a schedule and the blobs that it alone needed. Its runs stay.
func (f *Fleet) DeleteSchedule(ctx context.Context, name string) error {
	return f.write(ctx, "delete a schedule in", func(tx transaction) error {
		if err := tx.lock(ctx, scheduleOwner(plainText(name)), "blobs"); err != nil {
			return err
		}
		n, err := tx.exec(ctx, `DELETE FROM exp.fleet_schedules WHERE name = $1`, plainText(name))
		if err != nil {
			return err
		}
		if n == 0 {
			return f.noSchedule(name)
		}
		return freeBlobs(ctx, tx, scheduleOwner(plainText(name)))
	})
}
