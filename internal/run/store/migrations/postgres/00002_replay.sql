-- +goose Up
-- Every statement may run twice. The schema is there already.
--
-- The first three tables may be there too, made and written by an application, with ids that are UUIDs and without a key. They stay as they are,
-- but for columns that results lack; the program reads and writes whatever types they have.
CREATE TABLE IF NOT EXISTS exp.variants (
	id            text PRIMARY KEY,
	experiment_id text,
	name          text,
	config        jsonb
);
CREATE TABLE IF NOT EXISTS exp.prompt_versions (
	id              text PRIMARY KEY,
	file_path       text,
	model_provider  text,
	model_name      text,
	config_defaults jsonb
);
CREATE TABLE IF NOT EXISTS exp.conversation_replay_results (
	evaluation_run_id        text PRIMARY KEY,
	variant_id               text,
	baseline_variant_id      text,
	flow_id                  text,
	dataset_version          text,
	status                   text,
	completion_match_score   double precision,
	turn_count_ratio         double precision,
	state_progression_match  double precision,
	avg_latency_ms           double precision,
	completion_time_seconds  double precision,
	data_collection_accuracy double precision,
	is_better_than_baseline  boolean
);

-- A column without a default rewrites nothing. Nobody waits long for a table that somebody holds, as everybody else would wait behind.
-- +goose StatementBegin
DO $$
DECLARE missing text;
BEGIN
	PERFORM set_config('lock_timeout', '5s', true);
	FOR missing IN
		SELECT name || ' ' || type
		FROM (VALUES
			('mode', 'text'), ('gate', 'text'), ('error', 'text'), ('support_coverage', 'double precision'), ('sessions', 'bigint'),
			('pairs_dropped', 'bigint'), ('non_inferior', 'boolean'), ('verdict', 'text'), ('intervals', 'jsonb'), ('settings', 'jsonb'),
			('started_at', 'timestamptz'), ('seen_at', 'timestamptz'), ('ended_at', 'timestamptz')
		) AS columns (name, type)
		WHERE EXISTS (
			SELECT FROM pg_class WHERE oid = 'exp.conversation_replay_results'::regclass AND relkind IN ('r', 'p')
		) AND NOT EXISTS (
			SELECT FROM pg_attribute WHERE attrelid = 'exp.conversation_replay_results'::regclass AND attname = name AND NOT attisdropped
		)
	LOOP
		EXECUTE 'ALTER TABLE exp.conversation_replay_results ADD COLUMN ' || missing;
	END LOOP;
END
$$;
-- +goose StatementEnd

-- In the order in which sessions are read, so that a page is a piece of the key.
CREATE TABLE IF NOT EXISTS exp.conversation_replay_sessions (
	evaluation_run_id text COLLATE "C",
	session_id        text COLLATE "C",
	dropped           text,
	metrics           jsonb,
	detail            jsonb,
	PRIMARY KEY (evaluation_run_id, session_id)
);
