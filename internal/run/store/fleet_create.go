package store

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// idempotencyKept is how long a run is found by the key with which it was submitted.
const idempotencyKept = 24 * time.Hour

// NewRun is what is asked of CreateRun.
type NewRun struct {
	// Run has ID, Schema, Kind, Name, Labels, Schedule, Fingerprint, and Suites and Targets as far as they are known.
	// Its status becomes RunQueued and CreatedAt the time by the store's clock.
	Run Run
	// Spec is the RunSpec as JSON.
	Spec []byte
	// Key is the submission's idempotency key; empty for none. It counts for 24 hours, for the caller By alone.
	Key, By string
	// Hash is that of what was submitted with Key. Another one with the same key is ErrOtherSubmission.
	Hash string
	// Blobs are the hashes of the files that the spec names by hash.
	Blobs []string
	// MaxWaiting is how many runs may wait, this one among them; 0 means any number.
	MaxWaiting int
	// Failed says why the run cannot be begun; empty if it can. Such a run does not wait: it ends at once as RunFailed.
	Failed string
	// Unheld are the totals of the run if it ends before it has begun; nil where they are not known.
	Unheld *result.Totals
}

// CreateRun keeps a new run, which waits as the last one, with its first event. created is false where the caller used
// the key within 24 hours or the id is there already: then the run is that one, unchanged. It refuses with
// ErrOtherSubmission, ErrQueueFull, and with a *MissingBlobsError which blobs are missing.
func (f *Fleet) CreateRun(ctx context.Context, n NewRun) (run Run, created bool, err error) {
	s, err := f.submission(n)
	if err != nil {
		return Run{}, false, err
	}
	err = f.write(ctx, "write a run to", func(tx transaction) error {
		run, created, err = f.createRun(ctx, tx, s)
		return err
	})
	if err != nil {
		return Run{}, false, err
	}
	return run, created, nil
}

// submission is a new run that was looked at, with its spec and its totals, packed. Totals that are not known are nil.
type submission struct {
	NewRun
	packed, unheld []byte
}

func (f *Fleet) submission(n NewRun) (*submission, error) {
	check := rowCheck{what: "run", id: n.Run.ID}
	check.key("id", n.Run.ID)
	check.text("idempotency key", n.Key, MaxIdempotencyKey)
	if check.err != nil {
		return nil, check.err
	}
	n.Run.ID, n.Key, n.By = plainText(n.Run.ID), plainText(n.Key), plainText(n.By)
	s := &submission{NewRun: n, packed: f.packers.pack(n.Spec)}
	if n.Unheld != nil {
		data, err := json.Marshal(n.Unheld)
		if err != nil {
			return nil, err
		}
		s.unheld = f.packers.pack(data)
	}
	return s, nil
}

// createRun keeps a run, or finds the one that it was kept as.
func (f *Fleet) createRun(ctx context.Context, tx transaction, s *submission) (run Run, created bool, err error) {
	// One submission at a time, so that numbers are in the order in which runs can be seen.
	if err := tx.lock(ctx, "submission"); err != nil {
		return run, false, err
	}
	now, err := tx.now(ctx)
	if err != nil {
		return run, false, err
	}
	known, err := f.findSubmission(ctx, tx, s, now)
	if err != nil || known.number != 0 {
		return known.Run, false, err
	}
	row := runRow{Run: s.Run}
	row.Status, row.CreatedAt = RunQueued, now
	row.StartedAt, row.EndedAt, row.CancelAt, row.Progress.Done, row.Progress.Running = nil, nil, nil, 0, 0
	if s.Failed == "" {
		if err := f.checkWaiting(ctx, tx, s.MaxWaiting); err != nil {
			return run, false, err
		}
	}
	if err := insertRun(ctx, tx, &row, s); err != nil {
		return run, false, err
	}
	if err := f.useBlobs(ctx, tx, runOwner(row.ID), s.Blobs); err != nil {
		return run, false, err
	}
	if s.unheld != nil && s.Failed == "" {
		if err := putRunFile(ctx, tx, row.number, unheldFile, s.unheld); err != nil {
			return run, false, err
		}
	}
	if s.Failed != "" {
		failed := row
		failed.Status, failed.Error, failed.Totals = RunFailed, &s.Failed, s.Unheld
		failed.ExitReason, failed.ExitCode = new(result.ReasonAborted), new(result.ExitNotRun)
		err = f.keepRun(ctx, tx, &row, &failed)
		row = failed
	}
	return row.Run, true, err
}

// MaxIdempotencyKey bounds the key of a submission, in bytes.
const MaxIdempotencyKey = 1_000

// findSubmission returns the run with the id, or the one that the same caller submitted with the key; its number is 0
// if there is none. The caller and the hash of a run that an earlier version stored are unknown, and fit all.
func (f *Fleet) findSubmission(ctx context.Context, tx transaction, s *submission,
	now time.Time) (found runRow, err error) {
	var hash *string
	err = tx.read(ctx, `SELECT `+runColumns+`, submitted_hash FROM exp.fleet_runs
		WHERE id = $1 OR $2 <> '' AND submitted_as = $2 AND (submitted_by = $3 OR submitted_by IS NULL) AND created_at > $4
		ORDER BY number DESC LIMIT 1`,
		[]any{s.Run.ID, s.Key, s.By, micros(now.Add(-idempotencyKept))},
		func(row scanner) error { return found.scanWith(row, &hash) })
	if err == nil && found.ID != s.Run.ID && hash != nil && *hash != s.Hash {
		err = f.fault("write a run to", "the idempotency key was used for another submission",
			"use a new key for each submission", ErrOtherSubmission)
	}
	return found, err
}

func (f *Fleet) checkWaiting(ctx context.Context, tx transaction, most int) error {
	if most <= 0 {
		return nil
	}
	var waiting int64
	err := tx.read(ctx, `SELECT count(*) FROM exp.fleet_runs WHERE status = $1`, []any{string(RunQueued)},
		func(row scanner) error { return row.Scan(&waiting) })
	if err == nil && waiting >= int64(most) {
		err = f.fault("write a run to", fmt.Sprintf("%d runs wait already", waiting),
			"submit it again when some have begun", ErrQueueFull)
	}
	return err
}

func insertRun(ctx context.Context, tx transaction, row *runRow, s *submission) error {
	body, err := row.encode()
	if err != nil {
		return err
	}
	schedule := ""
	if row.Schedule != nil {
		schedule = *row.Schedule
	}
	row.lastEvent = 0
	err = tx.read(ctx, `INSERT INTO exp.fleet_runs (id, status, name, schedule, created_at, body, submitted_as, submitted_by, submitted_hash,
			last_seq, last_event, done, passed, failed, errors, skipped)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0, 1, 0, 0, 0, 0, 0) RETURNING number`,
		[]any{
			row.ID, string(row.Status), word(row.Name), word(schedule), micros(row.CreatedAt), body, orNull(s.Key),
			s.By, s.Hash,
		},
		func(r scanner) error { return r.Scan(&row.number) })
	if err != nil {
		return err
	}
	if _, err := tx.exec(ctx, `INSERT INTO exp.fleet_specs (run, spec) VALUES ($1, $2)`, row.number,
		s.packed); err != nil {
		return err
	}
	if err := addWords(ctx, tx, row); err != nil {
		return err
	}
	return addEvents(ctx, tx, row, body, false)
}

// The kinds of words by which runs are found.
const (
	wordSuite  = "suite"
	wordTarget = "target"
	wordLabel  = "label"
)

// labelWord is a label as runs are found by it.
func labelWord(key, value string) string { return word(key + ":" + value) }

// addWords writes what a run is found by.
func addWords(ctx context.Context, tx transaction, row *runRow) error {
	seen := map[[2]string]bool{}
	var rows [][]any
	add := func(kind, value string) {
		if at := [2]string{kind, value}; !seen[at] {
			seen[at] = true
			rows = append(rows, []any{kind, value, row.number})
		}
	}
	for _, name := range row.Suites {
		add(wordSuite, word(name))
	}
	for _, name := range row.Targets {
		add(wordTarget, word(name))
	}
	for _, key := range slices.Sorted(maps.Keys(row.Labels)) {
		add(wordLabel, labelWord(key, row.Labels[key]))
	}
	return tx.insert(ctx, "fleet_words", []string{"kind", "value", "run"}, rows)
}
