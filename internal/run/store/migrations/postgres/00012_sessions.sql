-- +goose Up
-- Every statement may run twice: what was broken off begins anew.
-- Sessions of chatbots, in the tables of graph/saver/postgres. Names of threads are bytes, as text of PostgreSQL cannot have every byte.
CREATE TABLE IF NOT EXISTS exp.session_threads (
	name   bytea PRIMARY KEY,
	newest text NOT NULL,  -- the id of the newest record
	used   bigint NOT NULL -- when it was written, in milliseconds since 1970
);
CREATE INDEX IF NOT EXISTS session_threads_used ON exp.session_threads (used);
CREATE TABLE IF NOT EXISTS exp.session_records (
	number   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- grows with time within a thread
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
CREATE TABLE IF NOT EXISTS exp.session_steps (
	number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- grows with time within a thread
	thread bytea NOT NULL,
	turn   integer NOT NULL,
	node   text NOT NULL,
	item   integer NOT NULL,
	at     bigint NOT NULL, -- microseconds since 1970
	used   bigint NOT NULL, -- when it was saved, in milliseconds since 1970
	writes bytea NOT NULL
);
CREATE INDEX IF NOT EXISTS session_steps_thread ON exp.session_steps (thread, number);

-- How many bytes all sessions hold, so that nobody has to add them up. In several parts, so that turns do not wait for each other.
CREATE TABLE IF NOT EXISTS exp.session_bytes (
	part  integer PRIMARY KEY,
	bytes bigint NOT NULL
);
INSERT INTO exp.session_bytes (part, bytes) SELECT part, 0 FROM generate_series(0, 63) AS part ON CONFLICT (part) DO NOTHING;
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION exp.count_session_bytes() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	changed bigint := 0;
	named   bytea;
BEGIN
	IF TG_OP = 'INSERT' THEN
		named := NEW.thread;
		changed := coalesce(octet_length(NEW.state), 0) + coalesce(octet_length(NEW.appended), 0);
	ELSE
		named := OLD.thread;
		changed := -(coalesce(octet_length(OLD.state), 0) + coalesce(octet_length(OLD.appended), 0));
	END IF;
	UPDATE exp.session_bytes SET bytes = bytes + changed WHERE part = hashtext(encode(named, 'hex')) & 63;
	RETURN NULL;
END $$;
-- +goose StatementEnd
DROP TRIGGER IF EXISTS count_session_bytes ON exp.session_records;
CREATE TRIGGER count_session_bytes AFTER INSERT OR DELETE ON exp.session_records
	FOR EACH ROW EXECUTE FUNCTION exp.count_session_bytes();

-- A lock ends with its holder, or at its time by the clock of the database. What a crash of the database loses of it is lost with the turn.
CREATE UNLOGGED TABLE IF NOT EXISTS exp.session_locks (
	name  bytea PRIMARY KEY,
	token text NOT NULL,
	until timestamptz NOT NULL
);

-- What is to be told of visitors. Times are microseconds since 1970.
CREATE TABLE IF NOT EXISTS exp.outbox (
	number     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	id         text NOT NULL UNIQUE,
	site       text NOT NULL,
	session    text NOT NULL,
	event      text NOT NULL,
	receiver   text NOT NULL,
	state      text NOT NULL,    -- pending, delivered or failed
	attempts   integer NOT NULL, -- that were begun
	tries      integer NOT NULL, -- of these, since the row became pending
	created_at bigint NOT NULL,
	since      bigint NOT NULL, -- when the row became pending
	due        bigint NOT NULL, -- of a row that somebody holds: when the lease ends
	token      text NOT NULL,   -- of the claim; empty while nobody holds the row
	ended      bigint NOT NULL, -- when it was delivered or has failed; 0 before
	error      text NOT NULL,
	body       bytea
);
CREATE INDEX IF NOT EXISTS outbox_due ON exp.outbox (due) WHERE state = 'pending';
CREATE INDEX IF NOT EXISTS outbox_session ON exp.outbox (session, site);

-- A crash of the database empties buckets: they fill up within minutes anyhow.
CREATE UNLOGGED TABLE IF NOT EXISTS exp.visit_buckets (
	name  bytea PRIMARY KEY,
	until bigint NOT NULL -- when it is full again, in microseconds since 1970
);
CREATE INDEX IF NOT EXISTS visit_buckets_until ON exp.visit_buckets (until);
CREATE TABLE IF NOT EXISTS exp.visit_spent (
	site     text NOT NULL,
	day      text NOT NULL, -- such as 2026-03-01, of the site's zone
	tokens   bigint NOT NULL,
	cost_usd double precision NOT NULL,
	PRIMARY KEY (site, day)
);
CREATE TABLE IF NOT EXISTS exp.visit_salt (
	one  integer PRIMARY KEY CHECK (one = 1),
	salt text NOT NULL
);
