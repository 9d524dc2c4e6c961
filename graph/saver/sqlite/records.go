package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/rehearse-dev/rehearse/graph"
)

// idleBefore returns a time in milliseconds. A thread that was last written before it has expired.
func (c *Saver) idleBefore() int64 {
	if c.ttl <= 0 {
		return 0
	}
	return c.now().Add(-c.ttl).UnixMilli()
}

// Load returns the records that lead to the one called id, or to the newest for "", oldest first; Values only of the
// last. It returns nothing for an unknown thread, and a wrapped graph.ErrNoCheckpoint for an unknown id.
func (c *Saver) Load(ctx context.Context, thread, id string) ([]graph.Record, error) {
	query := c.load
	if id == "" {
		query = c.loadNewest
	}
	records, err := c.query(ctx, query, thread, c.idleBefore(), id)
	if err != nil {
		return nil, c.file.Explain(fmt.Sprintf("read session %q from", thread), err)
	}
	if id != "" && len(records) == 0 {
		return nil, fmt.Errorf("session %q, checkpoint %q in %s: %w", thread, id, c.file.Path, graph.ErrNoCheckpoint)
	}
	for i := 1; i < len(records); i++ {
		records[i].Parent = records[i-1].ID
	}
	return records, nil
}

// Newest returns the id of the newest record; "" for an unknown thread.
func (c *Saver) Newest(ctx context.Context, thread string) (id string, err error) {
	err = c.newest.One(ctx, []any{thread, c.idleBefore()}, &id)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return id, c.file.Explain(fmt.Sprintf("read session %q from", thread), err)
}

// List returns every record of the thread without Values and Appended, oldest first; none for an unknown thread.
func (c *Saver) List(ctx context.Context, thread string) ([]graph.Record, error) {
	records, err := c.query(ctx, c.list, thread, c.idleBefore())
	return records, c.file.Explain(fmt.Sprintf("list session %q of", thread), err)
}

func (c *Saver) query(ctx context.Context, query *Statement, args ...any) (records []graph.Record, err error) {
	rows, err := query.rows(ctx, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var r graph.Record
		var parent sql.NullString
		var at int64
		if err := rows.Scan(&r.ID, &parent, &r.Turn, &r.Source, &at, (*[]byte)(&r.Appended),
			(*[]byte)(&r.Values)); err != nil {
			return nil, err
		}
		r.Parent, r.At = parent.String, time.UnixMicro(at).UTC()
		records = append(records, r)
	}
	return records, rows.Err()
}

// Delete forgets the thread; one that is unknown is no error.
func (c *Saver) Delete(ctx context.Context, thread string) error {
	err := c.file.Write(ctx, func(tx *sql.Tx) error { return forget(ctx, tx, thread) })
	return c.file.Explain(fmt.Sprintf("delete session %q from", thread), err)
}

// The statements on checkpoints. Within a thread, a later checkpoint has a higher id.
const (
	// threadQuery reads what a Save needs of a thread.
	threadQuery = `SELECT last, newest, used >= ?2 FROM checkpoint_threads WHERE name = ?1`
	insertQuery = `
		INSERT INTO checkpoints (previous, parent, name, turn, source, at, appended, state) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
	advanceQuery = `
		INSERT INTO checkpoint_threads (name, last, newest, used) VALUES (?, ?, ?, ?)
		ON CONFLICT (name) DO UPDATE SET last = excluded.last, newest = excluded.newest, used = excluded.used`

	newestQuery = `SELECT newest FROM checkpoint_threads WHERE name = ? AND used >= ?`

	// goalNewest and goalNamed find the checkpoint to which a chain leads. goalNamed searches the thread for a
	// checkpoint that is not the newest. That is rare, and an index would slow every Save down.
	goalNewest = `SELECT last FROM checkpoint_threads WHERE name = ?1 AND used >= ?2 AND ?3 = ''`
	goalNamed  = `
		WITH RECURSIVE thread (id, previous, name) AS (
			SELECT c.id, c.previous, c.name FROM checkpoint_threads AS t JOIN checkpoints AS c ON c.id = t.last
			WHERE t.name = ?1 AND t.used >= ?2
			UNION ALL SELECT c.id, c.previous, c.name FROM thread JOIN checkpoints AS c ON c.id = thread.previous
		)
		SELECT id FROM thread WHERE name = ?3 LIMIT 1`
	listQuery = `
		WITH RECURSIVE thread (id, previous) AS (
			SELECT c.id, c.previous FROM checkpoint_threads AS t JOIN checkpoints AS c ON c.id = t.last
			WHERE t.name = ?1 AND t.used >= ?2
			UNION ALL SELECT c.id, c.previous FROM thread JOIN checkpoints AS c ON c.id = thread.previous
		)
		SELECT name, (SELECT name FROM checkpoints WHERE id = c.parent), turn, source, at, NULL, NULL
		FROM thread JOIN checkpoints AS c USING (id) ORDER BY c.id`

	// lookQuery reads the next threads: the last of them, and the first that has expired.
	lookQuery = `
		SELECT max(id), min(id) FILTER (WHERE used < ?2)
		FROM (SELECT id, used FROM checkpoint_threads WHERE id > ?1 ORDER BY id LIMIT 8)`
	// cutQuery deletes a number of the last checkpoints of a thread.
	cutQuery = `
		DELETE FROM checkpoints WHERE id IN (
			WITH RECURSIVE thread (id, previous) AS (
				SELECT c.id, c.previous FROM checkpoint_threads AS t JOIN checkpoints AS c ON c.id = t.last WHERE t.id = ?1
				UNION ALL SELECT c.id, c.previous FROM thread JOIN checkpoints AS c ON c.id = thread.previous
			)
			SELECT id FROM thread LIMIT ?2
		) RETURNING previous`
)

// chainQuery reads the checkpoints that lead to a goal, with the state only of the last. It leaves out parents: the
// parent of a record is the record before it.
func chainQuery(goal string) string {
	return `
		WITH RECURSIVE
			goal (id) AS MATERIALIZED (` + goal + `),
			chain (id, parent) AS (
				SELECT c.id, c.parent FROM goal JOIN checkpoints AS c USING (id)
				UNION ALL SELECT c.id, c.parent FROM chain JOIN checkpoints AS c ON c.id = chain.parent
			)
		SELECT name, NULL, turn, source, at, appended, CASE WHEN id = (SELECT id FROM goal) THEN state END
		FROM chain JOIN checkpoints USING (id) ORDER BY id`
}

// threadsEndingQuery reads every thread. No turn waits for it.
const threadsEndingQuery = `SELECT name FROM checkpoint_threads WHERE used >= ?2 AND substr(name, -length(?1)) = ?1 ORDER BY name`

// ThreadsEnding returns the threads whose names have the given end, in order of name.
func (c *Saver) ThreadsEnding(ctx context.Context, end string) (names []string, err error) {
	err = c.each(ctx, threadsEndingQuery, []any{end, c.idleBefore()}, func(rows *sql.Rows) error {
		var name string
		err := rows.Scan(&name)
		names = append(names, name)
		return err
	})
	return names, c.file.Explain(fmt.Sprintf("look for sessions that end with %q in", end), err)
}
