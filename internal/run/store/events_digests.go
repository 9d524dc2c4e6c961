package store

import (
	"context"
	"database/sql"
	"hash/maphash"

	"github.com/jackc/pgx/v5"
)

// digestSeed makes the digests of sessions, which count as long as the program runs.
var digestSeed = maphash.MakeSeed()

// Digests returns a number for each session, which is another one when events of it were added, changed or erased. It
// reads no content of events, so that it takes a small part of what reading all of them takes. There are at most so
// many; none are returned where there would be more.
func (e *Events) Digests(ctx context.Context, most int) (map[string]uint64, error) {
	digests := map[string]uint64{}
	err := e.table.marks(ctx, most+1, func(session, marks string) {
		digests[session] = maphash.String(digestSeed, marks)
	})
	if err != nil || len(digests) > most {
		return nil, err
	}
	return digests, nil
}

// marks of a session: how many rows it has, which, and of when. A row whose number was that of an erased one has
// another time. An index answers.
func (t sqliteEvents) marks(ctx context.Context, most int, take func(session, marks string)) error {
	err := t.store.each(ctx, `SELECT session_id, count(*) || ' ' || sum(rowid) || ' ' || max(rowid) || ' ' || min(timestamp) || ' ' || max(timestamp)
		FROM events GROUP BY session_id LIMIT ?`, []any{most}, func(rows *sql.Rows) error {
		var session, marks string
		err := rows.Scan(&session, &marks)
		take(session, marks)
		return err
	})
	return t.store.explain(ctx, "read events from", err)
}

// marks of a session: how many rows it has, and which versions of which: an application may change them.
func (t postgresEvents) marks(ctx context.Context, most int, take func(session, marks string)) error {
	rows, _ := t.db.pool.Query(ctx, `SELECT coalesce(context ->> 'session_id', '') COLLATE "C" AS session, count(*) || ' ' || sum(hashtextextended(event_id::text || ' ' || xmin::text, 0))
		FROM exp.events GROUP BY session LIMIT $1`, most) // ForEachRow returns its error
	var session, marks string
	_, err := pgx.ForEachRow(rows, []any{&session, &marks}, func() error {
		take(session, marks)
		return nil
	})
	return t.db.explain(ctx, "read events from", err)
}
