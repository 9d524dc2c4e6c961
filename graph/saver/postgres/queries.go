package postgres

import "strings"

// queries are the statements on the tables of a saver, whose names begin with its prefix.
type queries struct {
	newest, chain, list, has, lock, insert, advance string
	dropTurn, steps, addStep, touch, dropSteps      string
	forgetThread, forgetRecords                     string
	expired, oldSteps, ending                       string
	claim, release                                  string
}

// queriesOn writes the statements on tables of a prefix. Times of use are milliseconds since 1970, by the clock of who
// writes.
func queriesOn(prefix string) queries {
	on := func(query string) string { return strings.ReplaceAll(query, "graph_", prefix) }
	return queries{
		newest: on(`SELECT newest FROM graph_threads WHERE name = $1 AND used >= $2`),
		chain: on(`
			WITH RECURSIVE chain AS (
				SELECT number, id, parent, turn, source, at, appended, state FROM graph_records
				WHERE thread = $1 AND id = $2 AND EXISTS (SELECT 1 FROM graph_threads WHERE name = $1 AND used >= $3)
				UNION ALL
				SELECT r.number, r.id, r.parent, r.turn, r.source, r.at, r.appended, NULL
				FROM chain JOIN graph_records AS r ON r.thread = $1 AND r.id = chain.parent AND r.number < chain.number
			)
			SELECT id, parent, turn, source, at, appended, state FROM chain ORDER BY number`),
		list: on(`SELECT id, parent, turn, source, at, NULL::bytea, NULL::bytea FROM graph_records
			WHERE thread = $1 AND EXISTS (SELECT 1 FROM graph_threads WHERE name = $1 AND used >= $2) ORDER BY number`),
		has: on(`SELECT EXISTS (SELECT 1 FROM graph_records WHERE thread = $1 AND id = $2)`),
		// lock has the row of a thread there from now on, and locked until the end of the transaction.
		lock: on(`INSERT INTO graph_threads (name, newest, used) VALUES ($1, '', $2)
			ON CONFLICT (name) DO UPDATE SET newest = graph_threads.newest RETURNING newest, used`),
		insert:   on(`INSERT INTO graph_records (thread, id, parent, turn, source, at, appended, state) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`),
		advance:  on(`UPDATE graph_threads SET newest = $2, used = $3 WHERE name = $1`),
		dropTurn: on(`DELETE FROM graph_steps WHERE thread = $1 AND turn <= $2`),
		steps: on(
			`SELECT turn, node, item, at, writes FROM graph_steps WHERE thread = $1 AND used >= $2 ORDER BY number`),
		addStep: on(
			`INSERT INTO graph_steps (thread, turn, node, item, at, used, writes) VALUES ($1, $2, $3, $4, $5, $6, $7)`),
		touch:     on(`UPDATE graph_threads SET used = greatest(used, $2) WHERE name = $1`),
		dropSteps: on(`DELETE FROM graph_steps WHERE thread = $1`),

		forgetThread:  on(`DELETE FROM graph_threads WHERE name = $1`),
		forgetRecords: on(`DELETE FROM graph_records WHERE thread = $1`),
		// expired takes a thread that nobody writes just now.
		expired: on(`SELECT name FROM graph_threads WHERE used < $1 ORDER BY used LIMIT 1 FOR UPDATE SKIP LOCKED`),
		// oldSteps are those of threads that were never saved; those of others go with them.
		oldSteps: on(`DELETE FROM graph_steps WHERE number IN (
			SELECT number FROM (SELECT number, used FROM graph_steps ORDER BY number LIMIT 8) AS first WHERE used < $1)`),
		// claim returns who has the claim on a thread then.
		claim: on(`INSERT INTO graph_claims AS c (thread, owner, until)
			VALUES ($1, $2, clock_timestamp() + $3 * interval '1 millisecond')
			ON CONFLICT (thread) DO UPDATE SET
				until = CASE WHEN c.owner = $2 OR c.until <= clock_timestamp() THEN excluded.until ELSE c.until END,
				owner = CASE WHEN c.owner = $2 OR c.until <= clock_timestamp() THEN excluded.owner ELSE c.owner END
			RETURNING owner`),
		release: on(`DELETE FROM graph_claims WHERE thread = $1 AND owner = $2`),
		ending: on(`SELECT name FROM graph_threads
			WHERE used >= $2 AND right(encode(name, 'hex'), $3) = encode($1, 'hex') ORDER BY name`),
	}
}
