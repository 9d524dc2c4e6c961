-- +goose Up
-- Every statement may run twice: two processes can meet on a new file.
CREATE TABLE IF NOT EXISTS events (
	event_id    TEXT PRIMARY KEY,
	event_type  TEXT NOT NULL,
	session_id  TEXT NOT NULL,
	flow_id     TEXT NOT NULL,    -- empty for none
	timestamp   INTEGER NOT NULL, -- microseconds since 1970
	unit_type   TEXT NOT NULL,
	unit_id     TEXT NOT NULL,
	experiments TEXT,             -- these four are JSON, NULL where there was none
	context     TEXT,
	metrics     TEXT,
	payload     TEXT
);
-- Both are in the order in which events are read, so that a page is a piece of an index, with one flow or all.
CREATE INDEX IF NOT EXISTS events_by_session ON events (session_id, timestamp, event_id);
CREATE INDEX IF NOT EXISTS events_by_flow ON events (flow_id, session_id, timestamp, event_id);
