-- How like the real users the simulated user of a replay was; NULL in other modes and of runs of earlier versions. The table may belong to an application.
-- +goose Up
-- +goose StatementBegin
DO $$
BEGIN
	PERFORM set_config('lock_timeout', '5s', true);
	IF EXISTS (
		SELECT FROM pg_class WHERE oid = 'exp.conversation_replay_results'::regclass AND relkind IN ('r', 'p')
	) THEN
		ALTER TABLE exp.conversation_replay_results ADD COLUMN IF NOT EXISTS fidelity jsonb;
	END IF;
END
$$;
-- +goose StatementEnd
