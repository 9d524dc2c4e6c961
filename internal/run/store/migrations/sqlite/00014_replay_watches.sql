-- +goose Up
-- Every statement may run twice: two processes can meet on a new file.
CREATE TABLE IF NOT EXISTS conversation_replay_watches (
	name       TEXT PRIMARY KEY,
	looks      INTEGER NOT NULL, -- how many the state has
	state      TEXT NOT NULL     -- JSON
);
