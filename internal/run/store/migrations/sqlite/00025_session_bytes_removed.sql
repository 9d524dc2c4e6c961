-- +goose Up
-- No session makes room for another any more, so the bytes of all sessions are not counted.
DROP TRIGGER IF EXISTS checkpoint_bytes_added;
DROP TRIGGER IF EXISTS checkpoint_bytes_changed;
DROP TRIGGER IF EXISTS checkpoint_bytes_removed;
DROP INDEX IF EXISTS checkpoint_threads_used;
DROP TABLE IF EXISTS checkpoint_bytes;
