package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

// Events returns the logged events that the store keeps. They end with the store.
func (s *Store) Events() *Events { return &Events{table: sqliteEvents{s}} }

// sqliteEvents is the table of events of a file.
type sqliteEvents struct{ store *Store }

// eventColumns are in the order in which rows are put and read.
const eventColumns = `event_id, event_type, session_id, flow_id, timestamp, unit_type, unit_id, experiments, context, metrics, payload`

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

func (t sqliteEvents) flowsOf(ctx context.Context, session string) (flows []string, err error) {
	err = t.store.each(ctx,
		`SELECT DISTINCT flow_id FROM events WHERE session_id = ? AND flow_id <> '' ORDER BY flow_id`, []any{session},
		func(rows *sql.Rows) error {
			var flow string
			err := rows.Scan(&flow)
			flows = append(flows, flow)
			return err
		})
	return flows, t.store.explain(ctx, "look for a session in", err)
}

func (t sqliteEvents) erase(ctx context.Context, flow, session string) error {
	erased := int64(0)
	err := t.store.write(ctx, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, `DELETE FROM events WHERE session_id = ? AND flow_id = ?`, session, flow)
		if err == nil {
			erased, err = done.RowsAffected()
		}
		return err
	})
	if err == nil && erased > 0 {
		err = t.store.truncateLog(ctx)
	}
	return t.store.explain(ctx, "erase events from", err)
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
	return `INSERT INTO events (` + eventColumns + `) VALUES ` + strings.Repeat(row, rows)[len(", "):] +
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

func (t sqliteEvents) page(ctx context.Context, q eventQuery, after eventPlace, limit int,
	take func(storedEvent) bool) (err error) {
	defer func() { err = t.store.explain(ctx, "read events from", err) }()
	query, args := q.sqlite(after, limit)
	rows, err := t.store.db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		e, err := scanEvent(rows)
		if err != nil {
			return err
		}
		if !take(e) {
			return nil
		}
	}
	return rows.Err()
}

// sqlite is the query of a page.
func (q eventQuery) sqlite(after eventPlace, limit int) (query string, args []any) {
	// The plus keeps SQLite from using the bounds of time to search the index of every session again for every page.
	where := `(session_id, timestamp, rowid) > (?, ?, ?)`
	inRange := ` AND +timestamp >= ? AND +timestamp < ?`
	if q.whole {
		inRange = ` AND EXISTS (SELECT 1 FROM events AS any_of WHERE any_of.session_id = events.session_id AND any_of.timestamp >= ? AND any_of.timestamp < ?)`
	}
	where += inRange
	args = []any{after.session, after.micros, after.place, q.from, q.to}
	if q.flow != "" {
		where += ` AND flow_id = ?`
		args = append(args, q.flow)
	}
	if len(q.types) > 0 {
		types, _ := json.Marshal(q.types) // of strings it cannot fail
		where += ` AND event_type IN (SELECT value FROM json_each(?))`
		args = append(args, string(types))
	}
	return `SELECT rowid, ` + eventColumns + ` FROM events WHERE ` + where +
		` ORDER BY session_id, timestamp, rowid LIMIT ?`, append(args, limit)
}

func scanEvent(rows *sql.Rows) (e storedEvent, err error) {
	var micros int64
	err = rows.Scan(&e.place, &e.ID, &e.Type, &e.SessionID, &e.FlowID, &micros, &e.UnitType, &e.UnitID,
		(*[]byte)(&e.Experiments), (*[]byte)(&e.Context), (*[]byte)(&e.Metrics), (*[]byte)(&e.Payload))
	e.Time = time.UnixMicro(micros).UTC()
	return e, err
}

func (t sqliteEvents) sessionsAmong(ctx context.Context, sessions []string) ([]string, error) {
	list, _ := json.Marshal(sessions) // of strings it cannot fail
	var found []string
	err := t.each(ctx, `SELECT value FROM json_each(?) WHERE EXISTS (SELECT 1 FROM events WHERE session_id = value)`,
		list, func(rows *sql.Rows) error {
			var session string
			err := rows.Scan(&session)
			found = append(found, session)
			return err
		})
	return found, err
}

func (t sqliteEvents) get(ctx context.Context, ids []string) ([]replay.Event, error) {
	list, _ := json.Marshal(ids) // of strings it cannot fail
	var found []replay.Event
	err := t.each(ctx, `SELECT rowid, `+eventColumns+
		` FROM events WHERE event_id IN (SELECT value FROM json_each(?))`, list, func(rows *sql.Rows) error {
		e, err := scanEvent(rows)
		found = append(found, e.Event)
		return err
	})
	return found, err
}

// each hands the rows of a query over a list of JSON.
func (t sqliteEvents) each(ctx context.Context, query string, list []byte, take func(*sql.Rows) error) (err error) {
	defer func() { err = t.store.explain(ctx, "write events to", err) }() // it is asked for the sake of writing
	rows, err := t.store.db.QueryContext(ctx, query, string(list))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := take(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
