-- Every statement may run twice: two processes can meet on a new file.
CREATE TABLE IF NOT EXISTS checkpoint_threads (
	id     INTEGER PRIMARY KEY,
	name   TEXT NOT NULL UNIQUE,
	last   INTEGER NOT NULL, -- the newest checkpoint
	newest TEXT NOT NULL,    -- its name
	used   INTEGER NOT NULL  -- when it was saved, in milliseconds since 1970
);
-- Written at the end only, and without an index: a thread is found by its newest checkpoint, and from there on each names
-- the one before it.
CREATE TABLE IF NOT EXISTS checkpoints (
	id       INTEGER PRIMARY KEY, -- grows with time
	previous INTEGER NOT NULL,    -- of the same thread; 0 for the first
	parent   INTEGER NOT NULL,    -- that it goes on from, another than the previous one after a fork; 0 for none
	name     TEXT NOT NULL,       -- the id that graphs see
	turn     INTEGER NOT NULL,
	source   TEXT NOT NULL,
	at       INTEGER NOT NULL,    -- microseconds since 1970
	appended BLOB,
	state    BLOB                 -- last, as reading a chain passes over it
);
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
-- The calls that continue the unfinished turns of threads.
CREATE TABLE IF NOT EXISTS checkpoint_claims (
	thread TEXT PRIMARY KEY,
	owner  TEXT NOT NULL,
	until  INTEGER NOT NULL -- milliseconds since 1970
);
