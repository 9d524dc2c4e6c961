package runlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// MoveAside moves the run in dir, so that another can be held there, to a folder of its own below dir/earlier, and
// returns that folder: what was finished is never lost. The log and all that belongs to it move, and the files that a
// run has written by the marks of Foreign. It returns "" where dir holds no run.
func MoveAside(dir string, marks map[string][]string) (aside string, err error) {
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
		if e.Name() == ArtifactDir && e.IsDir() {
			if err := moveArtifacts(filepath.Join(dir, ArtifactDir), filepath.Join(aside, ArtifactDir)); err != nil {
				return "", fmt.Errorf("move the earlier results aside: %w", err)
			}
			continue
		}
		kept, _ := filepath.Match(keptPattern, e.Name()) // the pattern is a constant
		if texts, report := marks[e.Name()]; report {
			if _, ours, err := marked(filepath.Join(dir, e.Name()), texts); err != nil || !ours {
				continue
			}
		} else if !kept && e.Name() != LogFile && e.Name() != TornFile && e.Name() != RepeatFile &&
			e.Name() != RunFile && e.Name() != AnnotationFile {
			continue
		}
		if err := os.Rename(filepath.Join(dir, e.Name()), filepath.Join(aside, e.Name())); err != nil {
			return "", fmt.Errorf("move the earlier results aside: %w", err)
		}
	}
	return aside, nil
}

// artifactName matches the name of an artifact, which is the hash of its bytes.
var artifactName = text.Regexp(`^[0-9a-f]{64}$`)

// moveArtifacts moves the artifacts of a folder. What is something else stays, and the folder with it.
func moveArtifacts(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	for _, e := range entries {
		if !artifactName().MatchString(e.Name()) {
			continue
		}
		if err := os.Rename(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return err
		}
	}
	_ = os.Remove(from) // which fails where something else is in it
	return nil
}

// maxMarked is how much of a file is searched for the mark of its kind.
const maxMarked = 64 << 20

// Unrelated returns the name of a file in dir that a run would write over and that no run has written, or "". Beside
// run.json and the log, the files are the keys of marks; a file of ours holds at least one text of its key.
func Unrelated(dir string, marks map[string][]string) (string, error) {
	if data, err := os.ReadFile(filepath.Join(dir, RunFile)); err == nil {
		var run struct {
			ID     string `json:"run_id"`
			Schema int    `json:"schema"`
		}
		if json.Unmarshal(data, &run) != nil || run.Schema == 0 {
			return RunFile, nil //nolint:nilerr // another program has written it
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return RunFile, err
	}
	all := maps.Clone(marks)
	all[LogFile] = []string{`"test_id":`}
	return Unmarked(dir, all)
}

// Unmarked returns the name of a file in dir that is a key of marks and holds none of its texts, or "". An empty one is
// nobody's.
func Unmarked(dir string, marks map[string][]string) (string, error) {
	for _, name := range slices.Sorted(maps.Keys(marks)) {
		size, ours, err := marked(filepath.Join(dir, name), marks[name])
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil || size > 0 && !ours {
			return name, err
		}
	}
	return "", nil
}

// RemoveMarked removes the files in dir that a run has written, by the marks of Foreign. Files of somebody else stay.
func RemoveMarked(dir string, marks map[string][]string) error {
	for name, texts := range marks {
		path := filepath.Join(dir, name)
		_, ours, err := marked(path, texts)
		if err == nil && ours {
			err = os.Remove(path)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove a report that is out of date: %w", err)
		}
	}
	return nil
}

// marked returns how much was read of a file and whether it holds one of the texts.
func marked(path string, texts []string) (size int, ours bool, err error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, false, err
	}
	data, err := io.ReadAll(io.LimitReader(file, maxMarked))
	ours = slices.ContainsFunc(texts, func(mark string) bool { return bytes.Contains(data, []byte(mark)) })
	return len(data), ours, errors.Join(err, file.Close())
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
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return "", err
	}
	path := filepath.Join(parent, name)
	for n := 2; ; n++ {
		if err := os.Mkdir(path, 0o700); !errors.Is(err, fs.ErrExist) {
			return path, err
		}
		path = filepath.Join(parent, fmt.Sprintf("%s-%d", name, n))
	}
}
