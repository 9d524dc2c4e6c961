-- +goose Up
-- Every statement may run twice. The schema is there already.
CREATE TABLE IF NOT EXISTS exp.datasets (
	name        text COLLATE "C" PRIMARY KEY,
	description text NOT NULL,
	created_at  timestamptz NOT NULL,
	updated_at  timestamptz NOT NULL
);
-- The documents are json and not jsonb, so that they come back as they were written.
CREATE TABLE IF NOT EXISTS exp.dataset_items (
	position        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	dataset         text COLLATE "C" NOT NULL,
	id              text COLLATE "C" NOT NULL,
	input           json,
	expected_output json,
	metadata        json
);
CREATE UNIQUE INDEX IF NOT EXISTS dataset_items_by_id ON exp.dataset_items (dataset, id);
CREATE INDEX IF NOT EXISTS dataset_items_in_order ON exp.dataset_items (dataset, position);
