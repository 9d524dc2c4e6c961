-- +goose Up
-- Every statement may run twice: two processes can meet on a new file.
-- Who goes on with the unfinished turn of a thread just now.
CREATE TABLE IF NOT EXISTS checkpoint_claims (
	thread TEXT PRIMARY KEY,
	owner  TEXT NOT NULL,
	until  INTEGER NOT NULL -- milliseconds since 1970
);
