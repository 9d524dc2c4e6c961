package runlog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Compact leaves one record per key in the log in dir, the last one, and none of a test that drop takes; drop gets keys
// without a trial. The log as it was is kept beside it, numbered. A log that needs no change is left alone. Nobody may
// be writing the log.
func Compact(dir string, drop func(test result.Key) bool) error {
	path := filepath.Join(dir, LogFile)
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("compact results: %w", err)
	}
	defer func() { _ = file.Close() }() // nothing is written to it
	old, end, err := superseded(file)
	if err == nil {
		err = addDropped(old, io.NewSectionReader(file, 0, end), drop)
	}
	if err != nil || len(old) == 0 {
		return err
	}
	if err := linkBackup(path, before(dir), os.Link); err != nil {
		return fmt.Errorf("keep the results before the rerun: %w", err)
	}
	err = replaceFile(path, true, func(w io.Writer) error {
		lines := newLines(io.NewSectionReader(file, 0, end))
		for lines.next() {
			if _, replaced := old[lines.start]; replaced {
				continue
			}
			if lines.err != nil {
				return fmt.Errorf("line %d: %w", lines.number, lines.err)
			}
			_, err := w.Write(append(lines.line, '\n'))
			if err != nil {
				return err
			}
		}
		return lines.failed
	})
	if err != nil {
		return fmt.Errorf("compact %s: %w", path, err)
	}
	return nil
}

// addDropped adds to old where the lines begin whose records drop takes.
func addDropped(old map[int64]struct{}, log io.Reader, drop func(result.Key) bool) error {
	lines := newLines(log)
	for lines.next() {
		if lines.err != nil {
			continue
		}
		if key, ok := keyOf(lines.line); ok {
			if key.Trial = 0; drop(key) {
				old[lines.start] = struct{}{}
			}
		}
	}
	return lines.failed
}

// linkBackup gives the log a second name, or copies it where the file system has no links.
func linkBackup(log, name string, link func(from, to string) error) error {
	err := link(log, name)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return replaceFile(name, true, func(w io.Writer) error {
		file, err := os.Open(log)
		if err != nil {
			return err
		}
		_, err = io.Copy(w, file)
		return errors.Join(err, file.Close())
	})
}

// keptPattern is how before names the log as it was.
const keptPattern = "results.before-*.jsonl"

// before returns a free name for the log as it was.
func before(dir string) string {
	for n := 1; ; n++ {
		name := filepath.Join(dir, strings.Replace(keptPattern, "*", strconv.Itoa(n), 1))
		if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
			return name
		}
	}
}
