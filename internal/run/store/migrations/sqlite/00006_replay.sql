-- +goose Up
-- Every statement may run twice: two processes can meet on a new file.
CREATE TABLE IF NOT EXISTS variants (
	id            TEXT PRIMARY KEY,
	experiment_id TEXT NOT NULL, -- here and below, text is empty for none, and JSON is NULL for none
	name          TEXT NOT NULL,
	config        TEXT
);
CREATE TABLE IF NOT EXISTS prompt_versions (
	id              TEXT PRIMARY KEY,
	file_path       TEXT NOT NULL,
	model_provider  TEXT NOT NULL,
	model_name      TEXT NOT NULL,
	config_defaults TEXT
);
CREATE TABLE IF NOT EXISTS conversation_replay_results (
	evaluation_run_id        TEXT PRIMARY KEY,
	variant_id               TEXT NOT NULL,
	baseline_variant_id      TEXT NOT NULL,
	flow_id                  TEXT NOT NULL,
	dataset_version          TEXT NOT NULL,
	mode                     TEXT NOT NULL,
	gate                     TEXT NOT NULL,
	status                   TEXT NOT NULL,
	error                    TEXT NOT NULL,
	completion_match_score   REAL, -- figures are NULL where they do not apply
	turn_count_ratio         REAL,
	state_progression_match  REAL,
	avg_latency_ms           REAL,
	completion_time_seconds  REAL,
	data_collection_accuracy REAL,
	support_coverage         REAL,
	sessions                 INTEGER NOT NULL,
	pairs_dropped            INTEGER NOT NULL,
	is_better_than_baseline  INTEGER, -- 1, 0 or NULL
	non_inferior             INTEGER,
	verdict                  TEXT NOT NULL,
	intervals                TEXT,
	settings                 TEXT,
	started_at               INTEGER, -- microseconds since 1970
	seen_at                  INTEGER,
	ended_at                 INTEGER
);
CREATE INDEX IF NOT EXISTS conversation_replay_results_by_start ON conversation_replay_results (started_at DESC, evaluation_run_id);
CREATE TABLE IF NOT EXISTS conversation_replay_sessions (
	evaluation_run_id TEXT NOT NULL,
	session_id        TEXT NOT NULL,
	dropped           TEXT NOT NULL,
	metrics           TEXT,
	detail            TEXT,
	PRIMARY KEY (evaluation_run_id, session_id)
);
