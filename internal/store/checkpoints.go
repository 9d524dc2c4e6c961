package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"rehearse/internal/graph"
)

// Checkpoints keeps the records of sessions in a store's file, one row each. Rows are never rewritten: a turn only adds to a session.
// It is a graph.Checkpointer, safe for concurrent use and for several processes on one file.
// Store.Checkpoints returns it.
type Checkpoints struct {
	store *Store
	ttl   time.Duration
	now   func() time.Time // replaced by tests

	savings savings
	looked  int64 // the thread at which prune looked last; guarded by savings.turn

	load, loadNewest, list        statement
	thread, insert, advance, look statement
}

var _ graph.Checkpointer = (*Checkpoints)(nil)

// Checkpoints returns the sessions that the store keeps. A session that was not written for the ttl counts as deleted; it is removed from
// the file when other sessions begin. A ttl of 0 keeps all. They end with the store; closing them is not needed.
func (s *Store) Checkpoints(ttl time.Duration) *Checkpoints {
	prepare := func(query string) statement { return statement{db: s.db, query: query} }
	return &Checkpoints{
		store: s, ttl: ttl, now: time.Now,
		load: prepare(chainQuery(goalNamed)), loadNewest: prepare(chainQuery(goalNewest)), list: prepare(listQuery),
		thread: prepare(threadQuery), insert: prepare(insertQuery), advance: prepare(advanceQuery), look: prepare(lookQuery),
	}
}

// idleBefore returns a time in milliseconds. A thread that was last written before it has expired.
func (c *Checkpoints) idleBefore() int64 {
	if c.ttl <= 0 {
		return 0
	}
	return c.now().Add(-c.ttl).UnixMilli()
}

// Load returns the records that lead to the one called id, or to the newest for "", oldest first; Values only of the last.
// It returns nothing for an unknown thread, and a wrapped graph.ErrNoCheckpoint for an unknown id.
func (c *Checkpoints) Load(ctx context.Context, thread, id string) ([]graph.Record, error) {
	query := &c.load
	if id == "" {
		query = &c.loadNewest
	}
	records, err := c.query(ctx, query, thread, c.idleBefore(), id)
	if err != nil {
		return nil, explain(fmt.Sprintf("read session %q from", thread), c.store.path, err)
	}
	if id != "" && len(records) == 0 {
		return nil, fmt.Errorf("session %q, checkpoint %q in %s: %w", thread, id, c.store.path, graph.ErrNoCheckpoint)
	}
	for i := 1; i < len(records); i++ {
		records[i].Parent = records[i-1].ID
	}
	return records, nil
}

// List returns every record of the thread without Values and Appended, oldest first; none for an unknown thread.
func (c *Checkpoints) List(ctx context.Context, thread string) ([]graph.Record, error) {
	records, err := c.query(ctx, &c.list, thread, c.idleBefore())
	return records, explain(fmt.Sprintf("list session %q of", thread), c.store.path, err)
}

func (c *Checkpoints) query(ctx context.Context, query *statement, args ...any) (records []graph.Record, err error) {
	rows, err := query.rows(ctx, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var r graph.Record
		var parent sql.NullString
		var at int64
		if err := rows.Scan(&r.ID, &parent, &r.Turn, &r.Source, &at, (*[]byte)(&r.Appended), (*[]byte)(&r.Values)); err != nil {
			return nil, err
		}
		r.Parent, r.At = parent.String, time.UnixMicro(at).UTC()
		records = append(records, r)
	}
	return records, rows.Err()
}

// Delete forgets the thread; one that is unknown is no error.
func (c *Checkpoints) Delete(ctx context.Context, thread string) error {
	err := c.store.write(ctx, func(tx *sql.Tx) error { return forget(ctx, tx, thread) })
	return explain(fmt.Sprintf("delete session %q from", thread), c.store.path, err)
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

	// goalNewest and goalNamed find the checkpoint to which a chain leads. goalNamed searches the thread for a checkpoint that is not the
	// newest. That is rare, and an index would slow every Save down.
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

// chainQuery reads the checkpoints that lead to a goal, with the state only of the last. It leaves out parents: the parent of a record is
// the record before it.
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
func (c *Checkpoints) ThreadsEnding(ctx context.Context, end string) (names []string, err error) {
	err = c.store.each(ctx, threadsEndingQuery, []any{end, c.idleBefore()}, func(rows *sql.Rows) error {
		var name string
		err := rows.Scan(&name)
		names = append(names, name)
		return err
	})
	return names, explain(fmt.Sprintf("look for sessions that end with %q in", end), c.store.path, err)
}
