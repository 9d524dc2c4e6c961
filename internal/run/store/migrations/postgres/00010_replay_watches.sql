-- +goose Up
-- Every statement may run twice: what was broken off begins anew.
CREATE TABLE IF NOT EXISTS exp.conversation_replay_watches (
	name  text PRIMARY KEY,
	looks integer NOT NULL, -- how many the state has
	state text NOT NULL     -- JSON, as it was written: its numbers are exact
);
