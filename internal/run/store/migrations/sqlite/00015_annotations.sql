-- +goose Up
-- Every statement may run twice: two processes can meet on a new file.
CREATE TABLE IF NOT EXISTS annotations (
	position INTEGER PRIMARY KEY AUTOINCREMENT,
	run_id   TEXT NOT NULL,
	kind     TEXT NOT NULL,
	suite    TEXT NOT NULL,
	test_id  TEXT NOT NULL,
	record   TEXT NOT NULL -- JSON
);
CREATE INDEX IF NOT EXISTS annotations_run ON annotations (run_id, position);
CREATE INDEX IF NOT EXISTS annotations_kind ON annotations (kind, position);
