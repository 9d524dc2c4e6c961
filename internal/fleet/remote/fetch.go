package remote

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/fleet/client"
	"github.com/rehearse-dev/rehearse/internal/report"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Fetching says where the files of a run go, and which.
type Fetching struct {
	Server *client.Client
	// Dir is the folder; empty means one of the run's own below wire.StateDir.
	Dir string
	// LocalName returns the name that a file of the run has here.
	LocalName func(file string) string
	// Formats are the reports that will be written there, Writes the other files (evaluation.Config.Writes).
	Formats []string
	Writes  map[string][]string
	// Artifacts also fetches what the records name.
	Artifacts bool
	// Note is told what the user should know.
	Note func(said string)
}

// Run writes the files of a run that has ended into a folder, and calls show with the folder, which is locked until
// then. An invalid folder is the user's mistake (source.IsInvalid).
func (f *Fetching) Run(ctx context.Context, ended client.Run,
	show func(dir string, run *result.Run) error) (err error) {
	dir := f.Dir
	if dir == "" {
		dir = filepath.Join(wire.StateDir, "runs", filepath.Base(filepath.Clean(ended.ID)))
	}
	release, err := f.take(ctx, dir)
	if err != nil {
		return err
	}
	defer func() {
		if closing := release(); err == nil {
			err = closing
		}
	}()
	run, err := f.Server.Fetch(ctx, ended.ID, dir, f.LocalName)
	if err != nil {
		if ended.Error != nil {
			err = fmt.Errorf("run %s failed: %s", ended.ID, *ended.Error)
		}
		return err
	}
	f.artifacts(ctx, ended.ID, dir)
	if err := credible(dir, ended.ID, run); err != nil {
		return err
	}
	return show(dir, &run)
}

// artifacts fetches artifacts where they are wanted. The run is shown without those that are missing.
func (f *Fetching) artifacts(ctx context.Context, id, dir string) {
	if !f.Artifacts {
		return
	}
	missing, err := f.Server.FetchArtifacts(ctx, id, dir)
	switch {
	case err != nil:
		f.Note(err.Error())
	case missing > 0:
		f.Note(fmt.Sprintf("%d artifacts that the records name are not on the server", missing))
	}
}

// credible refuses the record of a run that is not what was asked for, or that its results do not bear out.
func credible(dir, id string, run result.Run) error {
	switch {
	case run.ExitCode == nil:
		return fmt.Errorf("the server's record of run %s does not say how it ended", id)
	case run.ID != id:
		return fmt.Errorf("the server's record of run %s is that of run %s", id, run.ID)
	case run.Code() == result.ExitPassed && (run.Stopped() || run.Totals.Errors > 0):
		return fmt.Errorf("the server's record of run %s says that it passed, and that not everything was held", id)
	}
	if err := runlog.Agree(dir, run); err != nil {
		return fmt.Errorf("the results of run %s: %w", id, err)
	}
	return nil
}

// take makes the folder of the results, and locks it. What an earlier run has left there is moved aside.
func (f *Fetching) take(ctx context.Context, dir string) (release func() error, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, source.Invalid("cannot write results: %w", err)
	}
	lock, err := runlog.AcquireLock(ctx, dir)
	if err != nil {
		return nil, source.Invalid("cannot write results: %w", err)
	}
	writes := report.Formats().Choose(f.Formats).Marks()
	maps.Copy(writes, f.Writes)
	foreign, err := runlog.Unrelated(dir, writes)
	if err == nil && foreign != "" {
		err = fmt.Errorf("%s is there and no run has written it: move it away, or choose another folder with --out",
			filepath.Join(dir, foreign))
	}
	aside := ""
	if err == nil {
		aside, err = runlog.MoveAside(dir, report.Owned())
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(source.Invalid("cannot write results: %w", err), lock.Release())
	}
	if aside != "" {
		f.Note("the earlier run in " + dir + " is moved to " + aside)
	}
	return lock.Release, nil
}
