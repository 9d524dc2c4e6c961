-- What the gate of a replay came to: passed, not_passed, cannot_say or not_judgeable.
-- +goose Up
ALTER TABLE conversation_replay_results ADD COLUMN outcome TEXT NOT NULL DEFAULT '';
