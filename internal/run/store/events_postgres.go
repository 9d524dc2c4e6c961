package store

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

// Events returns the logged events that the database keeps in the table exp.events. They end with p.
func (p *Postgres) Events() *Events { return &Events{table: postgresEvents{p}} }

// postgresEvents is the table exp.events. It may belong to an application, so only the documented columns are used.
type postgresEvents struct{ db *Postgres }

// copyFrom is the number of rows from which a temporary table is used. For fewer rows, making the table costs more than
// it saves, and events that come one by one would fill the server's catalogue.
const copyFrom = 500

const (
	documentedColumns = `event_id, event_type, unit_type, unit_id, experiments, context, metrics, payload, "timestamp"`
	// intoEvents begins a statement that inserts; the source of the rows follows. What it adds to a row's place is one
	// number for all of them.
	intoEvents = `WITH arrival AS MATERIALIZED (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint * 4096 AS first) INSERT INTO exp.events (` +
		documentedColumns + `, rehearse_arrival) `
	// returningAdded ends that statement.
	returningAdded = ` ON CONFLICT (event_id) DO NOTHING RETURNING event_id, context ->> 'session_id'`
)

func (t postgresEvents) insert(ctx context.Context, rows []eventRow) (added []addedEvent, err error) {
	// Every writer inserts in the same order. Otherwise two with the same events could wait for each other.
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(rows[a].id, rows[b].id), a-b) })
	if len(rows) < copyFrom {
		added, err = t.insertArrays(ctx, rows, order)
	} else {
		added, err = t.insertCopy(ctx, rows, order)
	}
	if err != nil {
		return nil, t.db.explain(ctx, "write events to", err)
	}
	return added, nil
}

// insertArrays inserts rows by one statement.
func (t postgresEvents) insertArrays(ctx context.Context, rows []eventRow, order []int) ([]addedEvent, error) {
	var text [4][]string
	var docs [4][]*string
	var times []time.Time
	var places []int32
	for _, i := range order {
		r := &rows[i]
		for column, value := range []string{r.id, r.kind, r.unitType, r.unitID} {
			text[column] = append(text[column], value)
		}
		for column, value := range []*string{&r.experiments, &r.context, &r.metrics, &r.payload} {
			if *value == "" {
				value = nil
			}
			docs[column] = append(docs[column], value)
		}
		times = append(times, time.UnixMicro(r.micros))
		places = append(places, int32(i))
	}
	// Text, as arrays of JSONB take twice the time.
	added, err := t.db.pool.Query(ctx, intoEvents+`
		SELECT a, b, c, d, e::jsonb, f::jsonb, g::jsonb, h::jsonb, i, arrival.first + j
		FROM arrival, unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::timestamptz[], $10::int[])
			AS incoming (a, b, c, d, e, f, g, h, i, j)`+returningAdded,
		text[0], text[1], text[2], text[3], docs[0], docs[1], docs[2], docs[3], times, places)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(added, scanAdded)
}

// insertCopy copies rows into a temporary table, and the new ones from there into exp.events.
func (t postgresEvents) insertCopy(ctx context.Context, rows []eventRow, order []int) (added []addedEvent, err error) {
	const incoming = "rehearse_incoming_events"
	columns := []string{
		"event_id", "event_type", "unit_type", "unit_id", "experiments", "context", "metrics", "payload", "timestamp",
		"place",
	}
	err = pgx.BeginFunc(ctx, t.db.pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `CREATE TEMPORARY TABLE `+incoming+
			` (event_id text, event_type text, unit_type text, unit_id text,
			experiments jsonb, context jsonb, metrics jsonb, payload jsonb, "timestamp" timestamptz, place int) ON COMMIT DROP`)
		if err != nil {
			return err
		}
		_, err = tx.CopyFrom(ctx, pgx.Identifier{
			"pg_temp", incoming,
		}, columns, pgx.CopyFromSlice(len(order), func(i int) ([]any, error) {
			r := &rows[order[i]]
			return []any{
				r.id, r.kind, r.unitType, r.unitID, orNull(r.experiments), orNull(r.context), orNull(r.metrics),
				orNull(r.payload), time.UnixMicro(r.micros), int32(order[i]),
			}, nil
		}))
		if err != nil {
			return err
		}
		found, err := tx.Query(ctx, intoEvents+`SELECT `+documentedColumns+
			`, arrival.first + place FROM arrival, pg_temp.`+incoming+returningAdded)
		if err != nil {
			return err
		}
		added, err = pgx.CollectRows(found, scanAdded)
		return err
	})
	return added, err
}

func scanAdded(row pgx.CollectableRow) (e addedEvent, err error) {
	err = row.Scan(&e.id, &e.session)
	return e, err
}

func (t postgresEvents) page(ctx context.Context, q eventQuery, after eventPlace, limit int,
	take func(storedEvent) bool) error {
	query, args := q.postgres(after, limit)
	err := t.db.page(ctx, query, args, func(rows pgx.Rows) (goOn bool, err error) {
		e, err := scanPostgresEvent(rows)
		return err == nil && take(e), err
	})
	return t.db.explain(ctx, "read events from", err)
}

// postgres is the query of a page. Its expressions are those of the indexes; otherwise PostgreSQL would not use them.
func (q eventQuery) postgres(after eventPlace, limit int) (query string, args []any) {
	const place = `(context ->> 'session_id') COLLATE "C", "timestamp", coalesce(rehearse_arrival, 0), event_id COLLATE "C"`
	args = []any{
		after.session, time.UnixMicro(after.micros), after.place, after.id, time.UnixMicro(q.from),
		time.UnixMicro(q.to), limit,
	}
	where := `(` + place + `) > ($1, $2, $3, $4) AND `
	if q.whole {
		// LIMIT keeps this a question for each row, which the index answers. As a join it would read the table for
		// every page.
		where += `(SELECT true FROM exp.events AS any_of WHERE (any_of.context ->> 'session_id') COLLATE "C" = (e.context ->> 'session_id') COLLATE "C"
			AND any_of."timestamp" >= $5 AND any_of."timestamp" < $6 LIMIT 1)`
	} else {
		where += `"timestamp" >= $5 AND "timestamp" < $6`
	}
	if q.flow != "" {
		args = append(args, q.flow)
		where += ` AND (context ->> 'flow_id') COLLATE "C" = $` + strconv.Itoa(len(args))
	}
	if len(q.types) > 0 {
		args = append(args, q.types)
		where += ` AND event_type = ANY ($` + strconv.Itoa(len(args)) + `)`
	}
	return selectEvents + where + ` ORDER BY ` + place + ` LIMIT $7`, args
}

// selectEvents begins a query of events; its condition follows.
const selectEvents = `SELECT coalesce(rehearse_arrival, 0), ` + placeInTable +
	`, event_id, coalesce(event_type, ''), coalesce(context ->> 'session_id', ''),
		coalesce(context ->> 'flow_id', ''), "timestamp", coalesce(unit_type, ''), coalesce(unit_id, ''), experiments, context, metrics, payload
	FROM exp.events AS e WHERE `

func (t postgresEvents) flowsOf(ctx context.Context, session string) ([]string, error) {
	// CollectRows returns its error
	rows, _ := t.db.pool.Query(ctx, `SELECT DISTINCT (context ->> 'flow_id') COLLATE "C" AS flow FROM exp.events
		WHERE (context ->> 'session_id') COLLATE "C" = $1 AND context ->> 'flow_id' <> '' ORDER BY flow`, session)
	flows, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return flows, t.db.explain(ctx, "look for a session in", err)
}

func (t postgresEvents) erase(ctx context.Context, flow, session string) error {
	_, err := t.db.pool.Exec(ctx, `DELETE FROM exp.events
		WHERE (context ->> 'session_id') COLLATE "C" = $1 AND coalesce(context ->> 'flow_id', '') = $2`, session, flow)
	return t.db.explain(ctx, "erase events from", err)
}

func (t postgresEvents) sessionsAmong(ctx context.Context, sessions []string) ([]string, error) {
	rows, err := t.db.pool.Query(ctx, `SELECT name FROM unnest($1::text[]) AS wanted (name)
		WHERE (SELECT true FROM exp.events WHERE (context ->> 'session_id') COLLATE "C" = name LIMIT 1)`, sessions)
	if err != nil {
		return nil, t.db.explain(ctx, "write events to", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return found, t.db.explain(ctx, "write events to", err)
}

func (t postgresEvents) get(ctx context.Context, ids []string) ([]replay.Event, error) {
	rows, err := t.db.pool.Query(ctx, selectEvents+`event_id = ANY ($1)`, ids)
	if err != nil {
		return nil, t.db.explain(ctx, "write events to", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (replay.Event, error) {
		e, err := scanPostgresEvent(row)
		return e.Event, err
	})
	return found, t.db.explain(ctx, "write events to", err)
}

// placeInTable tells rows apart that have the same number of arrival: those from before the column lie in the table as
// they arrived, unless they were changed since then.
const placeInTable = `(ctid::text::point)[0]::bigint * 65536 + (ctid::text::point)[1]::bigint`

func scanPostgresEvent(rows pgx.CollectableRow) (e storedEvent, err error) {
	err = rows.Scan(&e.place, &e.inTable, &e.ID, &e.Type, &e.SessionID, &e.FlowID, &e.Time, &e.UnitType, &e.UnitID,
		(*[]byte)(&e.Experiments), (*[]byte)(&e.Context), (*[]byte)(&e.Metrics), (*[]byte)(&e.Payload))
	e.Time = e.Time.UTC()
	// null, as an application may have written it
	for _, doc := range []*json.RawMessage{&e.Experiments, &e.Metrics, &e.Payload} {
		if string(*doc) == "null" {
			*doc = nil
		}
	}
	return e, err
}

// maxUnusableNamed is how many rows without a session are named.
const maxUnusableNamed = 5

var _ replay.Lossy = (*Events)(nil)

// Unusable counts the rows that have no session or no time, so that Each cannot yield them, and names some of them.
// Only an application's own table has such rows: Put keeps none.
func (e *Events) Unusable(ctx context.Context, f replay.Filter) (n int, examples []string, err error) {
	if t, ok := e.table.(postgresEvents); ok {
		return t.unusable(ctx, newEventQuery(f))
	}
	return 0, nil, nil
}

func (t postgresEvents) unusable(ctx context.Context, q eventQuery) (n int, examples []string, err error) {
	args := []any{time.UnixMicro(q.from), time.UnixMicro(q.to), maxUnusableNamed}
	where := `((context ->> 'session_id') COLLATE "C" IS NULL OR (context ->> 'session_id') COLLATE "C" = '' OR isfinite("timestamp") IS NOT TRUE)
		AND (isfinite("timestamp") IS NOT TRUE OR "timestamp" >= $1 AND "timestamp" < $2)`
	if q.flow != "" {
		args = append(args, q.flow)
		where += ` AND (context ->> 'flow_id') COLLATE "C" = $` + strconv.Itoa(len(args))
	}
	if len(q.types) > 0 {
		args = append(args, q.types)
		where += ` AND event_type = ANY ($` + strconv.Itoa(len(args)) + `)`
	}
	err = pgx.BeginFunc(ctx, t.db.pool, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `WITH lost AS (SELECT event_id::text AS id FROM exp.events WHERE `+where+`)
			SELECT (SELECT count(*) FROM lost), coalesce((SELECT array_agg(id) FROM (SELECT id FROM lost ORDER BY id COLLATE "C" LIMIT $3) AS first), '{}')`,
			args...).Scan(&n, &examples)
	})
	return n, examples, t.db.explain(ctx, "count events of", err)
}
