-- +goose NO TRANSACTION
-- +goose Up
-- Every statement may run twice: what was broken off begins anew. The schema is there already.
--
-- The table may be there too, made and written by an application. So nothing is asked of it but the documented columns: session and flow
-- are read out of the context, by indexes of expressions, which neither rewrite the table nor hold up who writes to it.
CREATE TABLE IF NOT EXISTS exp.events (
	event_id    text PRIMARY KEY,
	event_type  text NOT NULL,
	unit_type   text,
	unit_id     text,
	experiments jsonb,
	context     jsonb,
	metrics     jsonb,
	payload     jsonb,
	"timestamp" timestamptz NOT NULL
);

-- An application's table without a key gets one, or ids could not be told to be known. This holds up its writers while it lasts.
-- Indexes that were broken off are there, but of no use.
-- +goose StatementBegin
DO $$
DECLARE broken regclass;
BEGIN
	IF NOT EXISTS (
		SELECT FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
		WHERE i.indrelid = 'exp.events'::regclass AND a.attname = 'event_id'
			AND i.indisunique AND i.indisvalid AND i.indimmediate AND i.indnkeyatts = 1 AND i.indpred IS NULL
	) THEN
		CREATE UNIQUE INDEX events_by_id ON exp.events (event_id);
	END IF;
	FOR broken IN
		SELECT i.indexrelid::regclass FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
		WHERE i.indrelid = 'exp.events'::regclass AND NOT i.indisvalid AND c.relname IN ('events_by_session', 'events_by_flow')
	LOOP
		EXECUTE 'DROP INDEX ' || broken;
	END LOOP;
END
$$;
-- +goose StatementEnd

-- Both are in the order in which events are read, so that a page is a piece of an index, with one flow or all.
CREATE INDEX CONCURRENTLY IF NOT EXISTS events_by_session
	ON exp.events ((context ->> 'session_id') COLLATE "C", "timestamp", event_id COLLATE "C");
CREATE INDEX CONCURRENTLY IF NOT EXISTS events_by_flow
	ON exp.events ((context ->> 'flow_id') COLLATE "C", (context ->> 'session_id') COLLATE "C", "timestamp", event_id COLLATE "C");
