package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Latest is the id under which Run finds the run that started last.
const Latest = "latest"

// ErrNoRun is what Run returns, wrapped, when no run has the id.
var ErrNoRun = errors.New("no such run")

// AmbiguousError is what Run returns when several runs begin with the id.
type AmbiguousError struct {
	Prefix string
	// IDs are the ids of the newest of these runs, at most five.
	IDs []string
}

// Error names the newest of the runs.
func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("several runs begin with %q: %s; give more of the id", e.Prefix, strings.Join(e.IDs, ", "))
}

// RunEntry is one run of suites in the index: its record and the folder with its results.
type RunEntry struct {
	result.Run
	Dir string
}

// PutRun enters a run of suites in the index, or replaces the entry with its ID. Runs of replay are in ReplayRuns.
// The folder is kept as given, so give an absolute path.
func (s *Store) PutRun(ctx context.Context, run result.Run, dir string) error {
	record, err := json.Marshal(run)
	if err != nil {
		return fmt.Errorf("enter run %s in the index: %w", run.ID, err)
	}
	db := sqliteDatabase{store: s}
	_, err = db.exec(ctx, `INSERT INTO runs (id, dir, started_at, record) VALUES ($1, $2, $3, $4)
		ON CONFLICT (id) DO UPDATE SET dir = excluded.dir, started_at = excluded.started_at, record = excluded.record`,
		run.ID, dir, run.StartedAt.UnixMicro(), record)
	return db.explain(ctx, "write run "+run.ID+" to", err)
}

// Run returns the run with the id, the one whose id begins with it, or for Latest the one that started last.
// It returns ErrNoRun when there is none and an *AmbiguousError when there are several.
func (s *Store) Run(ctx context.Context, id string) (RunEntry, error) {
	if id == Latest {
		entries, err := s.Runs(ctx, 1)
		if err == nil && len(entries) == 0 {
			err = fmt.Errorf("%w: nothing has been run yet", ErrNoRun)
		}
		if err != nil {
			return RunEntry{}, err
		}
		return entries[0], nil
	}
	if id == "" {
		return RunEntry{}, fmt.Errorf("%w: the id is empty", ErrNoRun)
	}
	const few = 5
	// The exact id comes first. The range finds the prefix by the index; LIKE would not.
	entries, err := s.query(ctx, `
		SELECT dir, record FROM runs WHERE id >= $1 AND id < $1 || char(0x10FFFF)
		ORDER BY id <> $1, started_at DESC, id DESC LIMIT $2`, id, few)
	switch {
	case err != nil:
		return RunEntry{}, err
	case len(entries) == 0:
		return RunEntry{}, fmt.Errorf("%w: %s", ErrNoRun, id)
	case len(entries) == 1, entries[0].ID == id:
		return entries[0], nil
	}
	ambiguous := &AmbiguousError{Prefix: id}
	for _, e := range entries {
		ambiguous.IDs = append(ambiguous.IDs, e.ID)
	}
	return RunEntry{}, ambiguous
}

// Runs returns the runs of suites that started last, newest first; a limit below 1 means all.
func (s *Store) Runs(ctx context.Context, limit int) ([]RunEntry, error) {
	if limit < 1 {
		limit = -1
	}
	return s.query(ctx, `SELECT dir, record FROM runs ORDER BY started_at DESC, id DESC LIMIT $1`, limit)
}

func (s *Store) query(ctx context.Context, query string, args ...any) (entries []RunEntry, err error) {
	db := sqliteDatabase{store: s}
	err = db.read(ctx, query, args, func(row scanner) error {
		var e RunEntry
		var record []byte
		if err := row.Scan(&e.Dir, &record); err != nil {
			return err
		}
		if err := json.Unmarshal(record, &e.Run); err != nil {
			return fmt.Errorf("record of a run: %w", err)
		}
		entries = append(entries, e)
		return nil
	})
	return entries, db.explain(ctx, "read", err)
}

// DropRun takes a run out of the index. One that is not there is no error.
func (s *Store) DropRun(ctx context.Context, id string) error {
	db := sqliteDatabase{store: s}
	_, err := db.exec(ctx, `DELETE FROM runs WHERE id = $1`, id)
	return db.explain(ctx, "delete run "+id+" in", err)
}
