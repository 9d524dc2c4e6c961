-- +goose Up
-- Every statement may run twice: two processes can meet on a new file.
CREATE TABLE IF NOT EXISTS runs (
	id         TEXT PRIMARY KEY,
	dir        TEXT NOT NULL,
	started_at INTEGER NOT NULL, -- microseconds since 1970
	record     BLOB NOT NULL     -- run.json
);
CREATE INDEX IF NOT EXISTS runs_by_start ON runs (started_at DESC, id DESC);
CREATE TABLE IF NOT EXISTS verdicts (
	id      INTEGER PRIMARY KEY, -- grows with age, so that the oldest can go first
	key     TEXT NOT NULL UNIQUE,
	verdict BLOB NOT NULL
);
