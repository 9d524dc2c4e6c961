-- +goose Up
-- Every statement may run twice: two processes can meet on a new file.
CREATE TABLE IF NOT EXISTS datasets (
	name        TEXT PRIMARY KEY,
	description TEXT NOT NULL,    -- empty for none
	created_at  INTEGER NOT NULL, -- microseconds since 1970
	updated_at  INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS dataset_items (
	position        INTEGER PRIMARY KEY AUTOINCREMENT, -- items come in the order in which they were added
	dataset         TEXT NOT NULL,
	id              TEXT NOT NULL,
	input           TEXT,                              -- these three are JSON, NULL where there was none
	expected_output TEXT,
	metadata        TEXT
);
CREATE UNIQUE INDEX IF NOT EXISTS dataset_items_by_id ON dataset_items (dataset, id);
CREATE INDEX IF NOT EXISTS dataset_items_in_order ON dataset_items (dataset, position);
