-- +goose Up
-- Every statement may run twice: two processes can meet on a new file.
CREATE TABLE IF NOT EXISTS visit_buckets (
	name  TEXT NOT NULL PRIMARY KEY,
	until INTEGER NOT NULL -- when it is full again, in microseconds since 1970
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS visit_buckets_until ON visit_buckets (until);
CREATE TABLE IF NOT EXISTS visit_spent (
	site     TEXT NOT NULL,
	day      TEXT NOT NULL, -- such as 2026-03-01, of the site's zone
	tokens   INTEGER NOT NULL,
	cost_usd REAL NOT NULL,
	PRIMARY KEY (site, day)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS visit_salt (
	one  INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
	salt TEXT NOT NULL
);
