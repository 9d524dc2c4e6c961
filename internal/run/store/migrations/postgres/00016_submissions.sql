-- Whose idempotency key it is, a hash of the token, empty without one; and the SHA-256 of what was submitted with it. Both are NULL in runs of earlier
-- versions, whose keys belong to every caller and fit every submission.
-- +goose Up
ALTER TABLE exp.fleet_runs ADD COLUMN IF NOT EXISTS submitted_by text COLLATE "C";
ALTER TABLE exp.fleet_runs ADD COLUMN IF NOT EXISTS submitted_hash text COLLATE "C";
