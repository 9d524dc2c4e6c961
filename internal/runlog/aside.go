package runlog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// MoveAside moves the run in dir, so that another can be held there, to a folder of its own below dir/earlier, and returns that
// folder: what was finished is never lost. The log and all that belongs to it move, and those of the named files that are there.
// It returns "" where dir holds no run.
func MoveAside(dir string, files ...string) (aside string, err error) {
	run, err := ReadRun(dir)
	if err != nil {
		if _, err := os.Lstat(filepath.Join(dir, LogFile)); err != nil {
			return "", nil //nolint:nilerr // an empty or new folder
		}
		run.ID = ""
	}
	entries, err := os.ReadDir(dir)
	if err == nil {
		aside, err = freeFolder(filepath.Join(dir, "earlier"), folderName(run.ID))
	}
	if err != nil {
		return "", fmt.Errorf("move the earlier results aside: %w", err)
	}
	for _, e := range entries {
		kept, _ := filepath.Match(keptPattern, e.Name()) // the pattern is a constant
		if !kept && e.Name() != LogFile && e.Name() != TornFile && e.Name() != RunFile && !slices.Contains(files, e.Name()) {
			continue
		}
		if err := os.Rename(filepath.Join(dir, e.Name()), filepath.Join(aside, e.Name())); err != nil {
			return "", fmt.Errorf("move the earlier results aside: %w", err)
		}
	}
	return aside, nil
}

// folderName returns a run's id as the name of a folder; what a strange run.json says is no path.
func folderName(id string) string {
	if id == "" || id == "." || !filepath.IsLocal(id) || filepath.Base(id) != id {
		return "unknown"
	}
	return id
}

// freeFolder makes a folder of that name in parent, numbered where there is one already.
func freeFolder(parent, name string) (string, error) {
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(parent, name)
	for n := 2; ; n++ {
		if err := os.Mkdir(path, 0o755); !errors.Is(err, fs.ErrExist) {
			return path, err
		}
		path = filepath.Join(parent, fmt.Sprintf("%s-%d", name, n))
	}
}
