-- +goose Up
-- Every statement may run twice: two processes can meet on a new file.
-- The calls that continue the unfinished turns of threads.
CREATE TABLE IF NOT EXISTS checkpoint_claims (
	thread TEXT PRIMARY KEY,
	owner  TEXT NOT NULL,
	until  INTEGER NOT NULL -- milliseconds since 1970
);
