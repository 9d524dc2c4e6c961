package store

// The statements on checkpoints. Within a thread a later checkpoint has a higher id.
const (
	// threadQuery reads what a Save has to know of a thread.
	threadQuery = `SELECT last, newest, used >= ?2 FROM checkpoint_threads WHERE name = ?1`
	insertQuery = `
		INSERT INTO checkpoints (previous, parent, name, turn, source, at, appended, state) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
	advanceQuery = `
		INSERT INTO checkpoint_threads (name, last, newest, used) VALUES (?, ?, ?, ?)
		ON CONFLICT (name) DO UPDATE SET last = excluded.last, newest = excluded.newest, used = excluded.used`

	// goalNewest and goalNamed find the checkpoint to which a chain leads. One that is not the newest is looked for along
	// its thread: that is rare, and an index would cost every Save.
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

	// lookQuery looks at the next threads: where they end, and the first that has expired.
	lookQuery = `
		SELECT max(id), min(id) FILTER (WHERE used < ?2)
		FROM (SELECT id, used FROM checkpoint_threads WHERE id > ?1 ORDER BY id LIMIT 8)`
	// cutQuery deletes the last checkpoints of a thread, some of them at a time.
	cutQuery = `
		DELETE FROM checkpoints WHERE id IN (
			WITH RECURSIVE thread (id, previous) AS (
				SELECT c.id, c.previous FROM checkpoint_threads AS t JOIN checkpoints AS c ON c.id = t.last WHERE t.id = ?1
				UNION ALL SELECT c.id, c.previous FROM thread JOIN checkpoints AS c ON c.id = thread.previous
			)
			SELECT id FROM thread LIMIT ?2
		) RETURNING previous`
)

// chainQuery reads the checkpoints that lead to a goal, with the state only of the last.
// The parent of a record, which is left out, is the record before it.
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
