package coordinator

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/run/natsconn"
	"github.com/rehearse-dev/rehearse/internal/run/store"
)

// hourly is the time between two looks for runs to prune.
const hourly = time.Hour

// Prune deletes runs that have ended and that neither limit keeps, with all that they alone have. Limits of 0 keep
// none.
func (s *Service) Prune(ctx context.Context, limits store.Pruning) (pruned int, err error) {
	return prune(ctx, s.Store, limits, s.RemoveFiles)
}

// prune deletes runs of a store, and with remove their files.
func prune(ctx context.Context, runs *store.Fleet, limits store.Pruning,
	remove func(id string) error) (pruned int, err error) {
	if limits == (store.Pruning{}) {
		limits.OlderThan = 1 // everything that has ended by now
	}
	ids, err := runs.Prune(ctx, limits)
	for _, id := range ids {
		err = errors.Join(err, remove(id))
	}
	return len(ids), err
}

// DeleteRun deletes a run that has ended, with its files.
func (s *Service) DeleteRun(ctx context.Context, id string) error {
	if err := s.Store.DeleteRun(ctx, id); err != nil {
		return err
	}
	return s.RemoveFiles(id)
}

// retain prunes every hour, where it is said for how long runs are kept, and removes files of runs that another server
// has deleted.
func (s *Service) retain(ctx context.Context) {
	for {
		if s.Retention > 0 {
			pruned, err := s.Prune(ctx, store.Pruning{OlderThan: s.Retention})
			if err != nil && ctx.Err() == nil {
				s.Log.Warn("old runs cannot be pruned", "error", err)
			}
			if pruned > 0 {
				s.Log.Info("old runs were pruned", "runs", pruned, "older_than", s.Retention.String())
			}
		}
		if err := s.sweepFiles(ctx); err != nil && ctx.Err() == nil {
			s.Log.Warn("files of deleted runs cannot be removed", "error", err)
		}
		if natsconn.Pause(ctx, hourly) != nil {
			return
		}
	}
}

// sweepFiles removes the files of runs that are in the store no more, and those with words that are erased.
func (s *Service) sweepFiles(ctx context.Context) error {
	stamps, err := s.Store.Stamps(ctx)
	if err != nil {
		return err
	}
	for _, of := range []func(string) string{s.leadingDir, s.endedDir} {
		found, err := filepath.Glob(of("*"))
		if err != nil {
			return err
		}
		for _, dir := range found {
			if strings.HasPrefix(filepath.Base(dir), making) {
				continue
			}
			run, err := s.Store.Run(ctx, filepath.Base(dir))
			switch {
			case errors.Is(err, store.ErrUnknown):
				err = os.RemoveAll(dir)
			case err == nil && run.Status.Ended():
				err = s.dropErased(run.ID, stamps)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
