-- +goose Up
-- Every statement may run twice. Conversations with flows that servers keep. One is held until held_until by whoever takes its next turn.
CREATE TABLE IF NOT EXISTS exp.fleet_conversations (
	id         text COLLATE "C" PRIMARY KEY,
	data       bytea NOT NULL, -- packed
	size       bigint NOT NULL,
	holder     text NOT NULL,
	held_until bigint NOT NULL,
	used_at    bigint NOT NULL
);
CREATE INDEX IF NOT EXISTS fleet_conversations_by_use ON exp.fleet_conversations (used_at);
