-- +goose Up
-- Every statement may run twice: what was broken off begins anew.
-- The register of sessions: see the tables of the same names in SQLite. Names are bytes, as text of PostgreSQL cannot have every byte. Times are
-- microseconds since 1970.
CREATE TABLE IF NOT EXISTS exp.session_rows (
	thread    bytea PRIMARY KEY,
	site      bytea NOT NULL,
	session   bytea NOT NULL,
	started   bigint NOT NULL,
	last      bigint NOT NULL, -- the last message
	turns     integer NOT NULL,
	language  text NOT NULL,
	route     text NOT NULL,
	person    text NOT NULL,
	outcome   text NOT NULL, -- what the last message got: open, blocked or failed
	converted boolean NOT NULL,
	email     boolean NOT NULL,
	failed    integer NOT NULL,
	up        integer NOT NULL,
	down      integer NOT NULL,
	stateless boolean NOT NULL, -- nothing was answered yet
	answered  boolean NOT NULL, -- a visitor was
	logged    integer NOT NULL, -- the turn up to which events were written
	gone      integer NOT NULL  -- the turn after which the visitor has left, 0 for none
);
CREATE INDEX IF NOT EXISTS session_rows_site ON exp.session_rows (site, last DESC, thread DESC);
CREATE INDEX IF NOT EXISTS session_rows_last ON exp.session_rows (last DESC, thread DESC);
CREATE INDEX IF NOT EXISTS session_rows_stateless ON exp.session_rows (last) WHERE stateless;
CREATE INDEX IF NOT EXISTS session_rows_unlogged ON exp.session_rows (last) WHERE logged < turns;
CREATE INDEX IF NOT EXISTS session_rows_idle ON exp.session_rows (last) WHERE answered AND NOT converted AND gone <> turns;
CREATE TABLE IF NOT EXISTS exp.session_notes (
	thread bytea NOT NULL REFERENCES exp.session_rows (thread) ON DELETE CASCADE,
	kind   text NOT NULL,    -- turn, failure or feedback
	n      integer NOT NULL, -- the number of the turn, of the failure
	mark   text NOT NULL,    -- the rating of a feedback
	note   text NOT NULL,    -- JSON
	PRIMARY KEY (thread, kind, n)
);
-- A session takes its row along, however it goes: erased, expired or evicted.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION exp.drop_session_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	DELETE FROM exp.session_rows WHERE thread = OLD.name;
	RETURN NULL;
END $$;
-- +goose StatementEnd
DROP TRIGGER IF EXISTS drop_session_row ON exp.session_threads;
CREATE TRIGGER drop_session_row AFTER DELETE ON exp.session_threads
	FOR EACH ROW EXECUTE FUNCTION exp.drop_session_row();
