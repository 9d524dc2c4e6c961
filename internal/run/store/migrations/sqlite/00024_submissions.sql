-- Whose idempotency key it is, a hash of the token, empty without one; and the SHA-256 of what was submitted with it. Both are NULL in runs of earlier
-- versions, whose keys belong to every caller and fit every submission.
-- +goose Up
ALTER TABLE fleet_runs ADD COLUMN submitted_by TEXT;
ALTER TABLE fleet_runs ADD COLUMN submitted_hash TEXT;
