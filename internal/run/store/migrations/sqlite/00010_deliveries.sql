-- +goose Up
-- Runs whose end was not told of yet, and what is to be told to whom.
CREATE TABLE IF NOT EXISTS fleet_endings (
	run INTEGER PRIMARY KEY
);
CREATE TABLE IF NOT EXISTS fleet_deliveries (
	id      TEXT PRIMARY KEY,
	next_at INTEGER NOT NULL,
	tries   INTEGER NOT NULL,
	data    BLOB NOT NULL -- packed
);
CREATE INDEX IF NOT EXISTS fleet_deliveries_by_time ON fleet_deliveries (next_at);
