-- +goose Up
-- Every statement may run twice: what was broken off begins anew.
CREATE TABLE IF NOT EXISTS exp.session_claims (
	thread bytea PRIMARY KEY,
	owner  text NOT NULL,       -- the call that continues the unfinished turn
	until  timestamptz NOT NULL -- by the clock of the database
);
