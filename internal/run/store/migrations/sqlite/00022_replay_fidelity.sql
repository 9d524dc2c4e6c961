-- How like the real users the simulated user of a replay was, a JSON object; NULL in other modes and of runs of earlier versions.
-- +goose Up
ALTER TABLE conversation_replay_results ADD COLUMN fidelity TEXT;
