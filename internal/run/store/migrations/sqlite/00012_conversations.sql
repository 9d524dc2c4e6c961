-- +goose Up
-- Conversations with flows that servers keep. One is held until held_until by whoever takes its next turn.
CREATE TABLE IF NOT EXISTS fleet_conversations (
	id         TEXT PRIMARY KEY,
	data       BLOB NOT NULL, -- packed
	size       INTEGER NOT NULL,
	holder     TEXT NOT NULL,
	held_until INTEGER NOT NULL,
	used_at    INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS fleet_conversations_by_use ON fleet_conversations (used_at);
