package runlog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Remove removes the files that the run with an id has written to dir, by the marks of Foreign, and dir itself if
// nothing else is in it. What a later run has written there stays. A run that goes on is a *BusyError.
func Remove(ctx context.Context, dir, id string, marks map[string][]string) error {
	run, err := ReadRun(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && run.ID != id {
		return nil // moved away, or another one's by now
	}
	if err != nil {
		return err
	}
	lock, err := AcquireLock(ctx, dir)
	if err != nil {
		return err
	}
	err = removeOwn(dir, marks)
	if err := errors.Join(err, lock.Release()); err != nil {
		return fmt.Errorf("remove run %s: %w", id, err)
	}
	_ = os.Remove(filepath.Join(dir, LockFile))
	_ = os.Remove(dir) // unless there is something else in it
	return nil
}

// removeOwn removes the files of a run: its record last, so that what was interrupted is done again.
func removeOwn(dir string, marks map[string][]string) error {
	if err := RemoveMarked(dir, marks); err != nil {
		return err
	}
	artifacts := filepath.Join(dir, ArtifactDir)
	entries, err := os.ReadDir(artifacts)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if artifactName().MatchString(e.Name()) {
			if err := os.Remove(filepath.Join(artifacts, e.Name())); err != nil {
				return err
			}
		}
	}
	_ = os.Remove(artifacts)
	names := []string{LogFile, TornFile, RepeatFile, RepeatFile + ".torn", RunFile}
	entries, err = os.ReadDir(dir)
	for _, e := range entries {
		if kept, _ := filepath.Match(keptPattern, e.Name()); kept { // the pattern is a constant
			names = append([]string{e.Name()}, names...)
		}
	}
	for _, name := range names {
		if failed := os.Remove(filepath.Join(dir, name)); failed != nil && !errors.Is(failed, fs.ErrNotExist) {
			return failed
		}
	}
	return err
}
