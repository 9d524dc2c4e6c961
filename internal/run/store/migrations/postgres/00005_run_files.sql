-- +goose Up
-- Every statement may run twice. What a run has left beside its results.
CREATE TABLE IF NOT EXISTS exp.fleet_files (
	run  bigint NOT NULL,
	name text COLLATE "C" NOT NULL,
	data bytea NOT NULL, -- packed
	PRIMARY KEY (run, name)
);
