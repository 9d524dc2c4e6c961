-- +goose Up
-- Every statement may run twice. The schema is there already. Times are microseconds since 1970 everywhere.
CREATE TABLE IF NOT EXISTS exp.fleet_runs (
	number       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- in the order of submission, and never used again
	id           text COLLATE "C" NOT NULL UNIQUE,
	status       text COLLATE "C" NOT NULL,
	name         text COLLATE "C" NOT NULL,    -- here and below, text is empty for none
	schedule     text COLLATE "C" NOT NULL,
	created_at   bigint NOT NULL,
	ended_at     bigint,
	cancel_at    bigint,          -- when its end was asked for
	submitted_as text COLLATE "C",             -- the idempotency key
	body         text NOT NULL,    -- the run as JSON
	last_seq     bigint NOT NULL,
	last_event   bigint NOT NULL,
	done         bigint NOT NULL, -- the conversations among the results
	passed       bigint NOT NULL, -- these four count tests
	failed       bigint NOT NULL,
	errors       bigint NOT NULL,
	skipped      bigint NOT NULL
);
CREATE INDEX IF NOT EXISTS fleet_runs_by_status ON exp.fleet_runs (status, number);
CREATE INDEX IF NOT EXISTS fleet_runs_by_submission ON exp.fleet_runs (submitted_as);
CREATE TABLE IF NOT EXISTS exp.fleet_specs (
	run  bigint PRIMARY KEY,
	spec bytea NOT NULL -- packed
);
-- What runs are found by: their suites, targets and labels.
CREATE TABLE IF NOT EXISTS exp.fleet_words (
	kind  text COLLATE "C" NOT NULL,
	value text COLLATE "C" NOT NULL,
	run   bigint NOT NULL,
	PRIMARY KEY (kind, value, run)
);
CREATE INDEX IF NOT EXISTS fleet_words_by_run ON exp.fleet_words (run);
-- A result has a place: the number of its run, times 2^32, and its seq. So the results of a run lie side by side in their order.
-- What is filtered by lies apart from the records, which are large.
CREATE TABLE IF NOT EXISTS exp.fleet_results (
	place    bigint PRIMARY KEY,
	run      bigint NOT NULL,
	unit     bytea NOT NULL,    -- a hash of suite, test and target
	trial    bigint NOT NULL,
	suite    text COLLATE "C" NOT NULL,
	test_id  text COLLATE "C" NOT NULL,
	target   text COLLATE "C" NOT NULL,
	verdict  text COLLATE "C" NOT NULL,
	codes    text COLLATE "C" NOT NULL,    -- of failures, with a comma before and after each
	worker   text COLLATE "C" NOT NULL,
	score    double precision,             -- NULL where there is none
	duration bigint,          -- in microseconds; NULL where it does not tell how long a conversation takes
	event    bigint NOT NULL  -- the id of its event
);
CREATE UNIQUE INDEX IF NOT EXISTS fleet_results_by_key ON exp.fleet_results (run, unit, trial);
CREATE TABLE IF NOT EXISTS exp.fleet_records (
	place  bigint PRIMARY KEY,
	record bytea NOT NULL -- packed
);
CREATE TABLE IF NOT EXISTS exp.fleet_texts (
	place bigint PRIMARY KEY,
	text  text NOT NULL -- the transcript, folded
);
-- The events of a run that do not tell of a result.
CREATE TABLE IF NOT EXISTS exp.fleet_events (
	run  bigint NOT NULL,
	id   bigint NOT NULL,
	kind text COLLATE "C" NOT NULL,
	data text NOT NULL,
	PRIMARY KEY (run, id)
);
CREATE TABLE IF NOT EXISTS exp.fleet_artifacts (
	place     bigint NOT NULL,
	n         bigint NOT NULL, -- its number among those of the result
	turn      bigint,          -- NULL for the whole conversation
	kind      text COLLATE "C" NOT NULL,
	sha256    text COLLATE "C" NOT NULL,
	bytes     bigint NOT NULL,
	truncated bigint NOT NULL,
	PRIMARY KEY (place, n)
);
CREATE INDEX IF NOT EXISTS fleet_artifacts_by_content ON exp.fleet_artifacts (sha256);
CREATE TABLE IF NOT EXISTS exp.fleet_orphans (
	sha256 text COLLATE "C" PRIMARY KEY
);
-- How long conversations took in runs that have ended.
CREATE TABLE IF NOT EXISTS exp.fleet_durations (
	unit  bytea PRIMARY KEY,
	n     bigint NOT NULL,
	total bigint NOT NULL -- microseconds
);
CREATE TABLE IF NOT EXISTS exp.fleet_leases (
	name       text COLLATE "C" PRIMARY KEY,
	owner      text COLLATE "C" NOT NULL, -- empty while nobody holds it
	fence      bigint NOT NULL,
	expires_at bigint NOT NULL
);
CREATE TABLE IF NOT EXISTS exp.fleet_schedules (
	name    text COLLATE "C" PRIMARY KEY,
	next_at bigint NOT NULL,
	body    text NOT NULL,
	spec    bytea NOT NULL -- packed
);
CREATE TABLE IF NOT EXISTS exp.fleet_tokens (
	name text COLLATE "C" PRIMARY KEY,
	hash bytea NOT NULL UNIQUE,
	body text NOT NULL
);
CREATE TABLE IF NOT EXISTS exp.fleet_blobs (
	sha256 text COLLATE "C" PRIMARY KEY,
	put_at bigint NOT NULL,
	data   bytea NOT NULL
);
-- Who needs a blob: "run ID" or "schedule NAME".
CREATE TABLE IF NOT EXISTS exp.fleet_blob_uses (
	owner  text COLLATE "C" NOT NULL,
	sha256 text COLLATE "C" NOT NULL,
	PRIMARY KEY (owner, sha256)
);
CREATE INDEX IF NOT EXISTS fleet_blob_uses_by_blob ON exp.fleet_blob_uses (sha256);
