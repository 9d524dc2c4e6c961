-- By which rules the gate of a replay decided, a JSON object; NULL of runs of earlier versions.
-- +goose Up
ALTER TABLE conversation_replay_results ADD COLUMN rules TEXT;
