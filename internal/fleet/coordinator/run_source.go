package coordinator

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/app/wire/storage"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/report"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// RunSource are runs that are seen without a server: Kept or Local.
type RunSource interface {
	List(ctx context.Context, status string, limit int) ([]store.Run, error)
	Show(ctx context.Context, id string) (store.Run, error)
	Cancel(ctx context.Context, id string) (store.Run, error)
	Prune(ctx context.Context, limits store.Pruning) (pruned int, err error)
}

var (
	_ RunSource = StoredRuns{}
	_ RunSource = Local{}
)

// Limits say which runs stay; nil is what was not said.
func Limits(olderThan *runspec.Age, keep *int) (limits store.Pruning) {
	if olderThan != nil {
		limits.OlderThan = time.Duration(*olderThan)
	}
	if keep != nil {
		limits.Newest = *keep
	}
	return limits
}

// CheckStatus refuses what is no status of a run; empty stands for all of them.
func CheckStatus(status string) error {
	if status == "" || slices.Contains(store.RunStatuses(), store.RunStatus(status)) {
		return nil
	}
	return source.Invalid("there is no status %q: use queued, running, completed, failed, cancelled or partial", status)
}

// StoredRuns are the runs of servers in a store, seen without a server.
type StoredRuns struct{ Store *store.Fleet }

// List returns the newest runs, at most limit, of a status where one is given.
func (k StoredRuns) List(ctx context.Context, status string, limit int) (runs []store.Run, err error) {
	page := store.PageOf{}
	for len(runs) < limit {
		page.Limit = min(store.MaxLimit, limit-len(runs))
		found, err := k.Store.Runs(ctx, store.RunFilter{Status: store.RunStatus(status)}, page)
		if err != nil {
			return nil, err
		}
		runs = append(runs, found.Items...)
		if found.Next == nil {
			break
		}
		page.Cursor = *found.Next
	}
	return runs, nil
}

// Show returns a run.
func (k StoredRuns) Show(ctx context.Context, id string) (store.Run, error) {
	run, err := k.Store.Run(ctx, id)
	return run, unknown(err, id)
}

// Cancel asks for the end of a run. One that waits ends at once, one that goes on when its server looks; one that has
// ended is no error.
func (k StoredRuns) Cancel(ctx context.Context, id string) (store.Run, error) {
	run, err := k.Store.CancelRun(ctx, id)
	if errors.Is(err, store.ErrRunEnded) {
		return k.Show(ctx, id)
	}
	return run, unknown(err, id)
}

// Prune deletes runs that have ended and that neither limit keeps. What servers have of them on their disks they remove
// themselves.
func (k StoredRuns) Prune(ctx context.Context, limits store.Pruning) (pruned int, err error) {
	return prune(ctx, k.Store, limits, func(string) error { return nil })
}

func unknown(err error, id string) error {
	if errors.Is(err, store.ErrUnknown) || errors.Is(err, store.ErrNoRun) {
		return source.Invalid("there is no run %q: `rehearse runs list` shows the runs", id)
	}
	return err
}

// Local are the runs in the index of a folder: those that `rehearse run` has held itself.
type Local struct {
	// Index is nil where nothing has been run yet.
	Index *store.Store
	// Setup has the clock.
	Setup *wire.Setup
}

// List returns the newest runs, at most limit, of a status where one is given.
func (l Local) List(ctx context.Context, status string, limit int) (runs []store.Run, err error) {
	if l.Index == nil {
		return nil, nil
	}
	entries, err := l.Index.Runs(ctx, 0)
	for _, entry := range entries {
		if run := localRun(entry); status == "" || string(run.Status) == status {
			if runs = append(runs, run); len(runs) == limit {
				break
			}
		}
	}
	return runs, err
}

// Show returns a run by its id, the beginning of it, or latest.
func (l Local) Show(ctx context.Context, id string) (store.Run, error) {
	if l.Index == nil {
		return store.Run{}, unknown(store.ErrNoRun, id)
	}
	entry, err := l.Index.Run(ctx, id)
	if several, ok := errors.AsType[*store.AmbiguousError](err); ok {
		return store.Run{}, source.Invalid("%w", several)
	}
	if err != nil {
		return store.Run{}, unknown(err, id)
	}
	return localRun(entry), nil
}

// Cancel refuses: a run without a server ends where it runs.
func (l Local) Cancel(context.Context, string) (store.Run, error) {
	return store.Run{}, source.Invalid("a run of this folder is cancelled where it runs: press Ctrl-C there; " +
		"for the runs of a server, name it with --server or its store with --store")
}

// Prune takes runs that have ended and that neither limit keeps out of the index, and removes what they have written.
// Other files stay.
func (l Local) Prune(ctx context.Context, limits store.Pruning) (pruned int, err error) {
	if l.Index == nil {
		return 0, nil
	}
	entries, err := l.Index.Runs(ctx, 0)
	if err != nil {
		return 0, err
	}
	before, newest := l.Setup.Now().Add(-limits.OlderThan), limits.Newest
	for _, entry := range entries {
		run := localRun(entry)
		if run.EndedAt == nil { // it goes on, or can be resumed
			continue
		}
		if newest > 0 {
			newest--
			continue
		}
		if run.EndedAt.After(before) {
			continue
		}
		err := runlog.Remove(ctx, entry.Dir, entry.ID, report.Formats().Marks())
		if _, resumed := errors.AsType[*runlog.BusyError](err); resumed {
			continue
		}
		if err != nil {
			return pruned, err
		}
		if err := l.Index.DropRun(ctx, entry.ID); err != nil {
			return pruned, err
		}
		pruned++
	}
	return pruned, nil
}

// localRun returns a run of the index as the API shows runs.
func localRun(entry store.RunEntry) store.Run {
	record := entry.Run
	if record.ExitReason == result.ReasonRunning && !runlog.Locked(entry.Dir) {
		record.ExitReason = result.ReasonDied
	}
	run := store.Run{
		ID: record.ID, Schema: runspec.Schema, Kind: "suite", Labels: map[string]string{},
		Fingerprint: record.Fingerprint, Suites: append([]string{}, record.Suites...),
		Targets: append([]string{}, record.Targets...), CreatedAt: record.StartedAt.UTC(),
		StartedAt: new(record.StartedAt.UTC()), Status: store.RunCompleted,
	}
	run.Progress.Done = record.Totals.Conversations
	switch record.ExitReason {
	case result.ReasonRunning:
		run.Status = store.RunRunning
		return run
	case result.ReasonDied:
		run.Status = store.RunFailed
		run.Error = new("the run died: go on with `rehearse run --resume " + record.ID + "`")
		return run
	case result.ReasonBudget:
		run.Status = store.RunPartial
	case result.ReasonInterrupted:
		run.Status = store.RunCancelled
	case result.ReasonAborted:
		run.Status = store.RunFailed
	default:
		run.Progress.Conversations = new(record.Totals.Conversations)
	}
	run.EndedAt = new(cmp.Or(record.EndedAt, record.StartedAt).UTC())
	run.Totals, run.PassRate = &record.Totals, record.PassRate
	run.ExitReason, run.ExitCode = &record.ExitReason, record.ExitCode
	if record.ExitMessage != "" {
		run.Error = &record.ExitMessage
	}
	return run
}

// OpenLocal opens the index of a folder, unless nothing has been run there yet. It ends with the setup.
func OpenLocal(ctx context.Context, s *wire.Setup) (Local, error) {
	if path := s.StorePath(); !storage.IsPostgres(path) {
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) { // opening would make an empty one
			return Local{Setup: s}, nil
		}
	}
	index, err := s.Store(ctx)
	return Local{index, s}, err
}
