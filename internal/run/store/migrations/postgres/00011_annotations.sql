-- +goose Up
-- Every statement may run twice: what was broken off begins anew.
CREATE TABLE IF NOT EXISTS exp.annotations (
	position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	run_id   text NOT NULL,
	kind     text NOT NULL,
	suite    text NOT NULL,
	test_id  text NOT NULL,
	record   text NOT NULL -- JSON
);
CREATE INDEX IF NOT EXISTS annotations_run ON exp.annotations (run_id, position);
CREATE INDEX IF NOT EXISTS annotations_kind ON exp.annotations (kind, position);
