-- +goose Up
-- Every statement may run twice. Runs whose end was not told of yet, and what is to be told to whom.
CREATE TABLE IF NOT EXISTS exp.fleet_endings (
	run bigint PRIMARY KEY
);
CREATE TABLE IF NOT EXISTS exp.fleet_deliveries (
	id      text COLLATE "C" PRIMARY KEY,
	next_at bigint NOT NULL,
	tries   bigint NOT NULL,
	data    bytea NOT NULL -- packed
);
CREATE INDEX IF NOT EXISTS fleet_deliveries_by_time ON exp.fleet_deliveries (next_at);
