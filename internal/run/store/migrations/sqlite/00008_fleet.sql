-- +goose Up
-- Every statement may run twice: two processes can meet on a new file. Times are microseconds since 1970 everywhere.
CREATE TABLE IF NOT EXISTS fleet_runs (
	number       INTEGER PRIMARY KEY AUTOINCREMENT, -- in the order of submission, and never used again
	id           TEXT NOT NULL UNIQUE,
	status       TEXT NOT NULL,
	name         TEXT NOT NULL,    -- here and below, text is empty for none
	schedule     TEXT NOT NULL,
	created_at   INTEGER NOT NULL,
	ended_at     INTEGER,
	cancel_at    INTEGER,          -- when its end was asked for
	submitted_as TEXT,             -- the idempotency key
	body         TEXT NOT NULL,    -- the run as JSON
	last_seq     INTEGER NOT NULL,
	last_event   INTEGER NOT NULL,
	done         INTEGER NOT NULL, -- the conversations among the results
	passed       INTEGER NOT NULL, -- these four count tests
	failed       INTEGER NOT NULL,
	errors       INTEGER NOT NULL,
	skipped      INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS fleet_runs_by_status ON fleet_runs (status, number);
CREATE INDEX IF NOT EXISTS fleet_runs_by_submission ON fleet_runs (submitted_as);
CREATE TABLE IF NOT EXISTS fleet_specs (
	run  INTEGER PRIMARY KEY,
	spec BLOB NOT NULL -- packed
);
-- What runs are found by: their suites, targets and labels.
CREATE TABLE IF NOT EXISTS fleet_words (
	kind  TEXT NOT NULL,
	value TEXT NOT NULL,
	run   INTEGER NOT NULL,
	PRIMARY KEY (kind, value, run)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS fleet_words_by_run ON fleet_words (run);
-- A result has a place: the number of its run, times 2^32, and its seq. So the results of a run lie side by side in their order.
-- What is filtered by lies apart from the records, which are large.
CREATE TABLE IF NOT EXISTS fleet_results (
	place    INTEGER PRIMARY KEY,
	run      INTEGER NOT NULL,
	unit     BLOB NOT NULL,    -- a hash of suite, test and target
	trial    INTEGER NOT NULL,
	suite    TEXT NOT NULL,
	test_id  TEXT NOT NULL,
	target   TEXT NOT NULL,
	verdict  TEXT NOT NULL,
	codes    TEXT NOT NULL,    -- of failures, with a comma before and after each
	worker   TEXT NOT NULL,
	score    REAL,             -- NULL where there is none
	duration INTEGER,          -- in microseconds; NULL where it does not tell how long a conversation takes
	event    INTEGER NOT NULL  -- the id of its event
);
CREATE UNIQUE INDEX IF NOT EXISTS fleet_results_by_key ON fleet_results (run, unit, trial);
CREATE TABLE IF NOT EXISTS fleet_records (
	place  INTEGER PRIMARY KEY,
	record BLOB NOT NULL -- packed
);
CREATE TABLE IF NOT EXISTS fleet_texts (
	place INTEGER PRIMARY KEY,
	text  TEXT NOT NULL -- the transcript, folded
);
-- The events of a run that do not tell of a result.
CREATE TABLE IF NOT EXISTS fleet_events (
	run  INTEGER NOT NULL,
	id   INTEGER NOT NULL,
	kind TEXT NOT NULL,
	data TEXT NOT NULL,
	PRIMARY KEY (run, id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS fleet_artifacts (
	place     INTEGER NOT NULL,
	n         INTEGER NOT NULL, -- its number among those of the result
	turn      INTEGER,          -- NULL for the whole conversation
	kind      TEXT NOT NULL,
	sha256    TEXT NOT NULL,
	bytes     INTEGER NOT NULL,
	truncated INTEGER NOT NULL,
	PRIMARY KEY (place, n)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS fleet_artifacts_by_content ON fleet_artifacts (sha256);
CREATE TABLE IF NOT EXISTS fleet_orphans (
	sha256 TEXT PRIMARY KEY
) WITHOUT ROWID;
-- How long conversations took in runs that have ended.
CREATE TABLE IF NOT EXISTS fleet_durations (
	unit  BLOB PRIMARY KEY,
	n     INTEGER NOT NULL,
	total INTEGER NOT NULL -- microseconds
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS fleet_leases (
	name       TEXT PRIMARY KEY,
	owner      TEXT NOT NULL, -- empty while nobody holds it
	fence      INTEGER NOT NULL,
	expires_at INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS fleet_schedules (
	name    TEXT PRIMARY KEY,
	next_at INTEGER NOT NULL,
	body    TEXT NOT NULL,
	spec    BLOB NOT NULL -- packed
);
CREATE TABLE IF NOT EXISTS fleet_tokens (
	name TEXT PRIMARY KEY,
	hash BLOB NOT NULL UNIQUE,
	body TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS fleet_blobs (
	sha256 TEXT PRIMARY KEY,
	put_at INTEGER NOT NULL,
	data   BLOB NOT NULL
);
-- Who needs a blob: "run ID" or "schedule NAME".
CREATE TABLE IF NOT EXISTS fleet_blob_uses (
	owner  TEXT NOT NULL,
	sha256 TEXT NOT NULL,
	PRIMARY KEY (owner, sha256)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS fleet_blob_uses_by_blob ON fleet_blob_uses (sha256);
