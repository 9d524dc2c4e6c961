package store

import (
	"context"
	"fmt"
	"time"
)

// FireRun begins the run of a time for which a schedule is due, and notes both in one step, so that of several servers
// one does it, and none does it twice or by half; the others, and whoever is late, get ErrChanged. While a run of the
// schedule waits or goes on, none is begun: what it returns says that the time was skipped. The run gets the name of
// the schedule. It refuses a run as CreateRun does.
func (f *Fleet) FireRun(ctx context.Context, name string, due, next time.Time, n NewRun) (last Firing, err error) {
	name = plainText(name)
	n.Run.Schedule = &name
	s, err := f.submission(n)
	if err != nil {
		return Firing{}, err
	}
	err = f.write(ctx, "write a run to", func(tx transaction) error {
		known, err := f.dueSchedule(ctx, tx, name, due)
		if err != nil {
			return err
		}
		goesOn, err := scheduleGoesOn(ctx, tx, name)
		if err != nil {
			return err
		}
		if last = (Firing{At: due, Outcome: FiringSkipped}); !goesOn {
			run, _, err := f.createRun(ctx, tx, s)
			if err != nil {
				return err
			}
			last.Outcome, last.RunID = FiringStarted, run.ID
		}
		return keepFiring(ctx, tx, known, next, last)
	})
	if err != nil {
		return Firing{}, err
	}
	return last, nil
}

// FireSchedule notes what became of the time for which a schedule was due where no run is begun, and when it is due
// next. Of several servers one succeeds; the others, and whoever is late, get ErrChanged.
func (f *Fleet) FireSchedule(ctx context.Context, name string, due, next time.Time, last Firing, fence Fence) error {
	return f.write(ctx, "write a schedule to", func(tx transaction) error {
		if err := f.demand(ctx, tx, fence); err != nil {
			return err
		}
		s, err := f.dueSchedule(ctx, tx, plainText(name), due)
		if err != nil {
			return err
		}
		return keepFiring(ctx, tx, s, next, last)
	})
}

// dueSchedule reads a schedule that nobody else fires until the transaction ends. It refuses one that is not due at
// that time any more.
func (f *Fleet) dueSchedule(ctx context.Context, tx transaction, name string, due time.Time) (s Schedule, err error) {
	if err := tx.lock(ctx, scheduleOwner(name)); err != nil {
		return s, err
	}
	err = tx.read(ctx, `SELECT body FROM exp.fleet_schedules WHERE name = $1`, []any{
		name,
	}, func(row scanner) (err error) {
		s, err = scanSchedule(row)
		return err
	})
	switch {
	case err != nil:
		return s, err
	case s.Name == "":
		return s, f.noSchedule(name)
	case micros(s.NextAt) != micros(due):
		return s, f.fault("write a schedule to", fmt.Sprintf("the schedule %q has been fired for that time",
			shortened(name)), "read the schedule again", ErrChanged)
	}
	return s, nil
}

func keepFiring(ctx context.Context, tx transaction, s Schedule, next time.Time, last Firing) error {
	s.NextAt, s.Last = next, &last
	body, err := s.encode()
	if err != nil {
		return err
	}
	_, err = tx.exec(ctx, `UPDATE exp.fleet_schedules SET next_at = $2, body = $3 WHERE name = $1`, plainText(s.Name),
		micros(next), body)
	return err
}

// scheduleGoesOn reports whether a run of a schedule waits or goes on.
func scheduleGoesOn(ctx context.Context, tx transaction, name string) (goesOn bool, err error) {
	err = tx.read(ctx, `SELECT 1 FROM exp.fleet_runs WHERE status IN ($1, $2) AND schedule = $3 LIMIT 1`,
		[]any{string(RunQueued), string(RunRunning), word(name)}, func(row scanner) error {
			goesOn = true
			return row.Scan(new(int64))
		})
	return goesOn, err
}
