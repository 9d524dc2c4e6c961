package store

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// Events returns the logged events that the database stores in the table exp.events. They end with p.
func (p *Postgres) Events() *Events {
	return &Events{
		db: postgresDatabase{db: p}, insert: postgresEvents{p}.insert, columns: eventColumns{
			session: `(%s.context ->> 'session_id') COLLATE "C"`, flow: `(e.context ->> 'flow_id') COLLATE "C"`,
			// Rows from before the column lie in the table as they arrived, unless they were changed since then.
			arrival: `coalesce(rehearse_arrival, 0)`,
			inTable: `(e.ctid::text::point)[0]::bigint * 65536 + (e.ctid::text::point)[1]::bigint`,
			bounded: `"timestamp"`, time: func(micros int64) any { return time.UnixMicro(micros) },
			// How many rows, and which versions of which: an application may change them.
			marks:       `count(*) || ' ' || sum(hashtextextended(event_id::text || ' ' || e.xmin::text, 0))`,
			application: true,
		},
	}
}

// postgresEvents adds events to the table exp.events. It may belong to an application, so only the documented columns
// are used.
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
