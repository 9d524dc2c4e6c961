-- +goose Up
-- What a run has left beside its results.
CREATE TABLE IF NOT EXISTS fleet_files (
	run  INTEGER NOT NULL,
	name TEXT NOT NULL,
	data BLOB NOT NULL, -- packed
	PRIMARY KEY (run, name)
) WITHOUT ROWID;
