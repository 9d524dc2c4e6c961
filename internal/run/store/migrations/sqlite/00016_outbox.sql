-- +goose Up
-- Every statement may run twice: two processes can meet on a new file.
-- Times are microseconds since 1970.
CREATE TABLE IF NOT EXISTS outbox (
	number     INTEGER PRIMARY KEY, -- grows with time
	id         TEXT NOT NULL UNIQUE,
	site       TEXT NOT NULL,
	session    TEXT NOT NULL,
	event      TEXT NOT NULL,
	receiver   TEXT NOT NULL,
	state      TEXT NOT NULL,    -- pending, delivered or failed
	attempts   INTEGER NOT NULL, -- that were begun
	tries      INTEGER NOT NULL, -- of these, since the row became pending
	created_at INTEGER NOT NULL,
	since      INTEGER NOT NULL, -- when the row became pending
	due        INTEGER NOT NULL, -- of a row that somebody holds: when the lease ends
	token      TEXT NOT NULL,    -- of the claim; empty while nobody holds the row
	ended      INTEGER NOT NULL, -- when it was delivered or has failed; 0 before
	error      TEXT NOT NULL,
	body       BLOB
);
CREATE INDEX IF NOT EXISTS outbox_due ON outbox (due) WHERE state = 'pending';
CREATE INDEX IF NOT EXISTS outbox_session ON outbox (session, site);
