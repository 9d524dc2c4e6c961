package runlog

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// WriteRun writes the record of a run to RunFile in dir, which must be there.
// A reader sees the whole old or the whole new record, also after a crash.
func WriteRun(dir string, run result.Run) error {
	data, err := json.MarshalIndent(run, "", "  ")
	if err == nil {
		err = replaceFile(filepath.Join(dir, RunFile), true, func(w io.Writer) error {
			_, err := w.Write(append(data, '\n'))
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("write record of run %s: %w", run.ID, err)
	}
	return nil
}

// Inspect reads the record of the run in dir as it stands with its writer: a run that is not finished and that nobody
// writes has died.
func Inspect(dir string) (result.Run, error) {
	locked := Locked(dir) // before the record: a run that ends in between is finished there
	run, err := ReadRun(dir)
	if run.ExitReason == result.ReasonRunning && !locked {
		run.ExitReason = result.ReasonDied
	}
	return run, err
}

// ReadRun reads the record of the run in dir.
func ReadRun(dir string) (result.Run, error) {
	var run result.Run
	path := filepath.Join(dir, RunFile)
	data, err := os.ReadFile(path)
	if err != nil {
		return run, fmt.Errorf("read record of run: %w", err)
	}
	if err := json.Unmarshal(data, &run); err != nil {
		return run, fmt.Errorf("read record of run %s: %w", path, err)
	}
	if run.Schema > result.Schema {
		return run,
			fmt.Errorf("read record of run %s: schema %d was written by a newer rehearse; this program knows %d",
				path, run.Schema, result.Schema)
	}
	return run, nil
}

// IsRun reports whether a folder holds the results of a run.
func IsRun(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, RunFile))
	return err == nil && !info.IsDir()
}
