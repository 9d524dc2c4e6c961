package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"
)

// Events returns the logged events that the store has. They end with the store.
func (s *Store) Events() *Events {
	return &Events{
		db: sqliteDatabase{store: s}, insert: sqliteEvents{s}.insert, columns: eventColumns{
			session: "%s.session_id", flow: "flow_id", arrival: "e.rowid", inTable: "0",
			// The plus keeps SQLite from using the bounds to search the index of every session again for every page.
			bounded: "+timestamp", time: func(micros int64) any { return micros },
			// How many rows, which, and of when: a row with the number of an erased one has another time. An index
			// answers.
			marks: `count(*) || ' ' || sum(rowid) || ' ' || max(rowid) || ' ' || min(timestamp) || ' ' ||
				max(timestamp)`,
		},
	}
}

// sqliteEvents adds events to the table of a file.
type sqliteEvents struct{ store *Store }

// insertedColumns are in the order in which rows are put.
const insertedColumns = `event_id, event_type, session_id, flow_id, timestamp, unit_type, unit_id, experiments, context,
	metrics, payload`

// rowsPerInsert is the number of rows that a statement inserts. More are not faster.
const rowsPerInsert = 50

func (t sqliteEvents) insert(ctx context.Context, rows []eventRow) (added []addedEvent, err error) {
	err = t.store.write(ctx, func(tx *sql.Tx) error {
		in := eventInserts{tx: tx}
		if whole := len(rows) - len(rows)%rowsPerInsert; whole > 0 {
			if err := in.insert(ctx, rows[:whole], rowsPerInsert); err != nil {
				return err
			}
			rows = rows[whole:]
		}
		err := in.insert(ctx, rows, 1)
		added = in.added
		return err
	})
	if err != nil {
		return nil, t.store.explain(ctx, "write events to", err)
	}
	return added, nil
}

// eventInserts inserts within a transaction.
type eventInserts struct {
	tx    *sql.Tx
	added []addedEvent
	args  []any
}

// insert inserts rows, each at a time; each divides the number of rows.
func (in *eventInserts) insert(ctx context.Context, rows []eventRow, each int) (err error) {
	if len(rows) == 0 {
		return nil
	}
	statement, err := in.tx.PrepareContext(ctx, insertEvents(each))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, statement.Close()) }()
	for ; len(rows) > 0; rows = rows[each:] {
		in.args = in.args[:0]
		for i := range rows[:each] {
			r := &rows[i]
			in.args = append(in.args, r.id, r.kind, r.session, r.flow, r.micros, r.unitType, r.unitID,
				orNull(r.experiments), orNull(r.context), orNull(r.metrics), orNull(r.payload))
		}
		if err := in.run(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// insertEvents returns the statement that inserts a number of rows.
func insertEvents(rows int) string {
	const row = ", (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
	return `INSERT INTO events (` + insertedColumns + `) VALUES ` + strings.Repeat(row, rows)[len(", "):] +
		` ON CONFLICT (event_id) DO NOTHING RETURNING event_id, session_id`
}

func (in *eventInserts) run(ctx context.Context, statement *sql.Stmt) (err error) {
	added, err := statement.QueryContext(ctx, in.args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, added.Close()) }()
	for added.Next() {
		var e addedEvent
		if err := added.Scan(&e.id, &e.session); err != nil {
			return err
		}
		in.added = append(in.added, e)
	}
	return added.Err()
}

// orNull is text, or NULL for none.
func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}
