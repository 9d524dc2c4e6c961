-- +goose Up
-- Every statement may run twice: two processes can meet on a new file.
-- Times are microseconds since 1970.
CREATE TABLE IF NOT EXISTS session_rows (
	thread    TEXT NOT NULL PRIMARY KEY,
	site      TEXT NOT NULL,
	session   TEXT NOT NULL,
	started   INTEGER NOT NULL,
	last      INTEGER NOT NULL, -- the last message
	turns     INTEGER NOT NULL,
	language  TEXT NOT NULL,
	route     TEXT NOT NULL,
	person    TEXT NOT NULL,
	outcome   TEXT NOT NULL,    -- what the last message got: open, blocked or failed
	converted INTEGER NOT NULL,
	email     INTEGER NOT NULL,
	failed    INTEGER NOT NULL,
	up        INTEGER NOT NULL,
	down      INTEGER NOT NULL,
	stateless INTEGER NOT NULL, -- nothing was answered yet
	answered  INTEGER NOT NULL, -- a visitor was
	logged    INTEGER NOT NULL, -- the turn up to which events were written
	gone      INTEGER NOT NULL  -- the turn after which the visitor has left, 0 for none
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS session_rows_site ON session_rows (site, last DESC, thread DESC);
CREATE INDEX IF NOT EXISTS session_rows_last ON session_rows (last DESC, thread DESC);
CREATE INDEX IF NOT EXISTS session_rows_stateless ON session_rows (last) WHERE stateless;
CREATE INDEX IF NOT EXISTS session_rows_unlogged ON session_rows (last) WHERE logged < turns;
CREATE INDEX IF NOT EXISTS session_rows_idle ON session_rows (last) WHERE answered AND NOT converted AND gone <> turns;
CREATE TABLE IF NOT EXISTS session_notes (
	thread TEXT NOT NULL,
	kind   TEXT NOT NULL,    -- turn, failure or feedback
	n      INTEGER NOT NULL, -- the number of the turn, of the failure
	mark   TEXT NOT NULL,    -- the rating of a feedback
	note   TEXT NOT NULL,    -- JSON
	PRIMARY KEY (thread, kind, n)
) WITHOUT ROWID;
-- +goose StatementBegin
CREATE TRIGGER IF NOT EXISTS session_notes_go AFTER DELETE ON session_rows BEGIN
	DELETE FROM session_notes WHERE thread = old.thread;
END;
-- +goose StatementEnd
-- A session takes its row along, however it goes: erased, expired or evicted.
-- +goose StatementBegin
CREATE TRIGGER IF NOT EXISTS session_rows_go AFTER DELETE ON checkpoint_threads BEGIN
	DELETE FROM session_rows WHERE thread = old.name;
END;
-- +goose StatementEnd
-- Sessions that were there before have rows without notes, whose turns are not logged.
INSERT OR IGNORE INTO session_rows
	SELECT name, substr(name, 1, instr(name, ':') - 1), substr(name, instr(name, ':') + 1), started, used * 1000,
		coalesce(json_extract(state, '$.turn_number'), 0), '', coalesce(json_extract(state, '$.next_route'), ''), '', 'open',
		coalesce(json_extract(state, '$.booking_state.converted'), 0), coalesce(json_extract(state, '$.dialog_supervision_state.captured_email'), '') <> '',
		0, 0, 0, 0, 0, coalesce(json_extract(state, '$.turn_number'), 0), 0
	FROM (
		SELECT t.name, t.used, CAST(c.state AS TEXT) AS state, (
			WITH RECURSIVE thread (previous, at) AS (
				SELECT previous, at FROM checkpoints WHERE id = t.last
				UNION ALL SELECT c.previous, c.at FROM thread JOIN checkpoints AS c ON c.id = thread.previous
			)
			SELECT min(at) FROM thread
		) AS started
		FROM checkpoint_threads AS t JOIN checkpoints AS c ON c.id = t.last
	) WHERE instr(name, ':') > 1 AND json_valid(state);
