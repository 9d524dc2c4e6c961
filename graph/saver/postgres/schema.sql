CREATE TABLE IF NOT EXISTS graph_threads (
	name   bytea PRIMARY KEY,
	newest text NOT NULL, -- the id of the newest record
	used   bigint NOT NULL DEFAULT 0 -- when it was written, in milliseconds since 1970
);
ALTER TABLE graph_threads ADD COLUMN IF NOT EXISTS used bigint NOT NULL DEFAULT 0;
CREATE TABLE IF NOT EXISTS graph_records (
	number   bigserial PRIMARY KEY, -- grows with time within a thread
	thread   bytea NOT NULL,
	id       text NOT NULL,
	parent   text NOT NULL, -- empty for none
	turn     integer NOT NULL,
	source   text NOT NULL,
	at       bigint NOT NULL, -- microseconds since 1970
	appended bytea,
	state    bytea,
	UNIQUE (thread, id)
);
CREATE TABLE IF NOT EXISTS graph_steps (
	number bigserial PRIMARY KEY, -- grows with time within a thread
	thread bytea NOT NULL,
	turn   integer NOT NULL,
	node   text NOT NULL,
	item   integer NOT NULL,
	at     bigint NOT NULL, -- microseconds since 1970
	used   bigint NOT NULL DEFAULT 0, -- when it was saved, in milliseconds since 1970
	writes bytea NOT NULL
);
ALTER TABLE graph_steps ADD COLUMN IF NOT EXISTS used bigint NOT NULL DEFAULT 0;
CREATE INDEX IF NOT EXISTS graph_steps_thread ON graph_steps (thread, number);
CREATE TABLE IF NOT EXISTS graph_claims (
	thread bytea PRIMARY KEY,
	owner  text NOT NULL,       -- the call that continues the unfinished turn
	until  timestamptz NOT NULL -- by the clock of the database
);
