-- +goose Up
-- How many bytes all sessions hold, so that nobody has to add them up, and who was used last.
CREATE TABLE IF NOT EXISTS checkpoint_bytes (
	one   INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
	bytes INTEGER NOT NULL
);
INSERT OR IGNORE INTO checkpoint_bytes (one, bytes)
	SELECT 1, coalesce(sum(coalesce(length(state), 0) + coalesce(length(appended), 0)), 0) FROM checkpoints;
CREATE INDEX IF NOT EXISTS checkpoint_threads_used ON checkpoint_threads (used);
-- +goose StatementBegin
CREATE TRIGGER IF NOT EXISTS checkpoint_bytes_added AFTER INSERT ON checkpoints BEGIN
	UPDATE checkpoint_bytes SET bytes = bytes + coalesce(length(new.state), 0) + coalesce(length(new.appended), 0);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER IF NOT EXISTS checkpoint_bytes_changed AFTER UPDATE OF state, appended ON checkpoints BEGIN
	UPDATE checkpoint_bytes SET bytes = bytes + coalesce(length(new.state), 0) + coalesce(length(new.appended), 0)
		- coalesce(length(old.state), 0) - coalesce(length(old.appended), 0);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER IF NOT EXISTS checkpoint_bytes_removed AFTER DELETE ON checkpoints BEGIN
	UPDATE checkpoint_bytes SET bytes = bytes - coalesce(length(old.state), 0) - coalesce(length(old.appended), 0);
END;
-- +goose StatementEnd
