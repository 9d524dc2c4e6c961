-- What the gate of a replay came to: passed, not_passed, cannot_say or not_judgeable. The table may belong to an application.
-- +goose Up
-- +goose StatementBegin
DO $$
BEGIN
	PERFORM set_config('lock_timeout', '5s', true);
	IF EXISTS (
		SELECT FROM pg_class WHERE oid = 'exp.conversation_replay_results'::regclass AND relkind IN ('r', 'p')
	) THEN
		ALTER TABLE exp.conversation_replay_results ADD COLUMN IF NOT EXISTS outcome text;
	END IF;
END
$$;
-- +goose StatementEnd
