-- +goose Up
-- Every statement may run twice: two processes can meet on a new file.
CREATE TABLE IF NOT EXISTS checkpoint_steps (
	id     INTEGER PRIMARY KEY, -- grows with time
	thread TEXT NOT NULL,       -- its name; it may have no row yet
	turn   INTEGER NOT NULL,    -- of the unfinished turn
	node   TEXT NOT NULL,
	item   INTEGER NOT NULL,
	at     INTEGER NOT NULL,    -- microseconds since 1970
	used   INTEGER NOT NULL,    -- when it was saved, in milliseconds since 1970
	writes BLOB
);
CREATE INDEX IF NOT EXISTS checkpoint_steps_thread ON checkpoint_steps (thread);
