-- +goose Up
-- No session makes room for another any more, so the bytes of all sessions are not counted.
DROP TRIGGER IF EXISTS count_session_bytes ON exp.session_records;
DROP FUNCTION IF EXISTS exp.count_session_bytes();
DROP TABLE IF EXISTS exp.session_bytes;
