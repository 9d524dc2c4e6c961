package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Delivery is news of a run that somebody is still to be told.
type Delivery struct {
	// ID is the same over all tries.
	ID    string `json:"-"`
	Run   string `json:"run"`
	Event string `json:"event"`
	// URL is told; Own is true for one that the server itself names, not the run's spec.
	URL string `json:"url"`
	Own bool   `json:"own,omitempty"`
	// Body is what is sent.
	Body json.RawMessage `json:"body"`
	// Tries is how often it was tried.
	Tries int `json:"-"`
}

// Endings returns runs whose end nobody was told of yet, at most so many, in the order of their submission. Announce
// ends that.
func (f *Fleet) Endings(ctx context.Context, limit int) ([]Run, error) {
	var q conditions
	q.all = []string{"number IN (SELECT run FROM exp.fleet_endings)"}
	rows, err := f.runsWhere(ctx, q, "ASC", limit)
	runs := make([]Run, 0, len(rows))
	for _, row := range rows {
		runs = append(runs, row.Run)
	}
	return runs, err
}

// Announce keeps what is to be told of the end of a run; nothing is told if that is empty. Of several servers one
// succeeds, the others get ErrChanged.
func (f *Fleet) Announce(ctx context.Context, run string, deliveries []Delivery) error {
	var rows [][]any
	for _, d := range deliveries {
		data, err := json.Marshal(d)
		if err != nil {
			return err
		}
		rows = append(rows, []any{plainText(d.ID), nil, int64(0), f.packers.pack(data)})
	}
	return f.write(ctx, "write webhooks to", func(tx transaction) error {
		n, err := tx.exec(ctx,
			`DELETE FROM exp.fleet_endings WHERE run = (SELECT number FROM exp.fleet_runs WHERE id = $1)`,
			plainText(run))
		switch {
		case err != nil:
			return err
		case n == 0:
			return f.fault("write webhooks to", fmt.Sprintf("the end of run %s is told already", shortened(run)),
				"look at its deliveries", ErrChanged)
		}
		now, err := tx.now(ctx)
		if err != nil {
			return err
		}
		for _, row := range rows {
			row[1] = micros(now)
		}
		return tx.insert(ctx, "fleet_deliveries", []string{"id", "next_at", "tries", "data"}, rows)
	})
}

// ClaimDelivery returns the delivery that has been due the longest, and counts a try. For the time hold no other server
// gets it. ok is false if none is due.
func (f *Fleet) ClaimDelivery(ctx context.Context, hold time.Duration) (d Delivery, ok bool, err error) {
	err = f.write(ctx, "read webhooks from", func(tx transaction) error {
		if err := tx.lock(ctx, "deliveries"); err != nil {
			return err
		}
		now, err := tx.now(ctx)
		if err != nil {
			return err
		}
		ok = false
		err = tx.read(ctx,
			`SELECT id, tries, data FROM exp.fleet_deliveries WHERE next_at <= $1 ORDER BY next_at, id LIMIT 1`,
			[]any{micros(now)},
			func(row scanner) error {
				var tries int64
				var packed []byte
				if err := row.Scan(&d.ID, &tries, &packed); err != nil {
					return err
				}
				data, err := unpack(packed)
				if err != nil {
					return err
				}
				ok, d.Tries = true, int(tries)+1
				return json.Unmarshal(data, &d)
			})
		if err != nil || !ok {
			return err
		}
		_, err = tx.exec(ctx, `UPDATE exp.fleet_deliveries SET tries = $2, next_at = $3 WHERE id = $1`, d.ID,
			int64(d.Tries), micros(now.Add(hold)))
		return err
	})
	return d, ok && err == nil, err
}

// PutOffDelivery has a delivery that was taken tried again after a time. One that another server has taken meanwhile
// stays as it is.
func (f *Fleet) PutOffDelivery(ctx context.Context, d Delivery, after time.Duration) error {
	return f.write(ctx, "write webhooks to", func(tx transaction) error {
		now, err := tx.now(ctx)
		if err != nil {
			return err
		}
		_, err = tx.exec(ctx, `UPDATE exp.fleet_deliveries SET next_at = $3 WHERE id = $1 AND tries = $2`,
			plainText(d.ID), int64(d.Tries), micros(now.Add(after)))
		return err
	})
}

// DropDelivery ends a delivery: it was made, or given up.
func (f *Fleet) DropDelivery(ctx context.Context, id string) error {
	return f.write(ctx, "write webhooks to", func(tx transaction) error {
		_, err := tx.exec(ctx, `DELETE FROM exp.fleet_deliveries WHERE id = $1`, plainText(id))
		return err
	})
}
