-- By which rules the gate of a replay decided; NULL of runs of earlier versions. The table may belong to an application.
-- +goose Up
-- +goose StatementBegin
DO $$
BEGIN
	PERFORM set_config('lock_timeout', '5s', true);
	IF EXISTS (
		SELECT FROM pg_class WHERE oid = 'exp.conversation_replay_results'::regclass AND relkind IN ('r', 'p')
	) THEN
		ALTER TABLE exp.conversation_replay_results ADD COLUMN IF NOT EXISTS rules jsonb;
	END IF;
END
$$;
-- +goose StatementEnd
