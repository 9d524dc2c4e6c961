-- +goose NO TRANSACTION
-- +goose Up
-- Every statement may run twice: what was broken off begins anew.
--
-- Events of one time come in the order in which they arrived. The table may belong to an application: the column has no default at first, so that no
-- row is rewritten, and what the application inserts gets a number by itself. Rows from before have none; their place in the table stands in for it.
-- The number is that of microseconds since 1970, times 4096: a clock needs no rights, as a sequence would.
ALTER TABLE exp.events ADD COLUMN IF NOT EXISTS rehearse_arrival bigint;
ALTER TABLE exp.events ALTER COLUMN rehearse_arrival SET DEFAULT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint * 4096;

-- Indexes that were broken off are there, but of no use.
-- +goose StatementBegin
DO $$
DECLARE broken regclass;
BEGIN
	FOR broken IN
		SELECT i.indexrelid::regclass FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
		WHERE i.indrelid = 'exp.events'::regclass AND NOT i.indisvalid AND c.relname IN ('events_in_session', 'events_in_flow')
	LOOP
		EXECUTE 'DROP INDEX ' || broken;
	END LOOP;
END
$$;
-- +goose StatementEnd
CREATE INDEX CONCURRENTLY IF NOT EXISTS events_in_session
	ON exp.events ((context ->> 'session_id') COLLATE "C", "timestamp", coalesce(rehearse_arrival, 0), event_id COLLATE "C");
CREATE INDEX CONCURRENTLY IF NOT EXISTS events_in_flow
	ON exp.events ((context ->> 'flow_id') COLLATE "C", (context ->> 'session_id') COLLATE "C", "timestamp", coalesce(rehearse_arrival, 0), event_id COLLATE "C");
DROP INDEX CONCURRENTLY IF EXISTS exp.events_by_session;
DROP INDEX CONCURRENTLY IF EXISTS exp.events_by_flow;
