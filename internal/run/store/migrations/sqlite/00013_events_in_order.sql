-- +goose Up
-- Every statement may run twice: two processes can meet on a new file.
-- Events of one time come in the order in which they arrived, which is that of the rowid, the end of every entry of an index.
DROP INDEX IF EXISTS events_by_session;
DROP INDEX IF EXISTS events_by_flow;
CREATE INDEX IF NOT EXISTS events_in_session ON events (session_id, timestamp);
CREATE INDEX IF NOT EXISTS events_in_flow ON events (flow_id, session_id, timestamp);
