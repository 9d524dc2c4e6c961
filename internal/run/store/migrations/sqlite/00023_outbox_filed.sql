-- +goose Up
-- Every statement may run twice: two processes can meet on an old file.
-- A turn only adds rows at the end of the table. Whoever looks at the outbox files them first: then indexes have them, and each is there once. A turn that
-- wrote the indexes itself would write three pages more. The index of a unique column cannot be dropped, hence a new table.
DROP INDEX IF EXISTS outbox_due;
DROP INDEX IF EXISTS outbox_session;
DROP INDEX IF EXISTS outbox_once;
ALTER TABLE outbox RENAME TO outbox_before;
CREATE TABLE outbox (
	number     INTEGER PRIMARY KEY, -- grows with time
	filed      INTEGER NOT NULL DEFAULT 0, -- rows that are not are the last ones
	id         TEXT NOT NULL,
	site       TEXT NOT NULL,
	session    TEXT NOT NULL,
	event      TEXT NOT NULL,
	receiver   TEXT NOT NULL,
	state      TEXT NOT NULL DEFAULT 'pending', -- or delivered, or failed
	attempts   INTEGER NOT NULL DEFAULT 0,      -- that were begun
	tries      INTEGER NOT NULL DEFAULT 0,      -- of these, since the row became pending
	created_at INTEGER NOT NULL,
	since      INTEGER NOT NULL DEFAULT 0,      -- when the row became pending
	due        INTEGER NOT NULL DEFAULT 0,      -- of a row that somebody holds: when the lease ends
	token      TEXT NOT NULL DEFAULT '',        -- of the claim; empty while nobody holds the row
	ended      INTEGER NOT NULL DEFAULT 0,      -- when it was delivered or has failed; 0 before
	error      TEXT NOT NULL DEFAULT '',
	body       BLOB
);
INSERT INTO outbox (number, filed, id, site, session, event, receiver, state, attempts, tries, created_at, since, due, token, ended, error, body)
	SELECT number, 1, id, site, session, event, receiver, state, attempts, tries, created_at, since, due, token, ended, error, body FROM outbox_before;
DROP TABLE outbox_before;
CREATE UNIQUE INDEX outbox_once ON outbox (session, site, id) WHERE filed;
CREATE INDEX outbox_due ON outbox (due) WHERE filed AND state = 'pending';
