package report

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Compact leaves one record per key in the log in dir, the last one, as a run needs in which some tests were run again.
// The log as it was is kept beside it, numbered. A log without repeats is left alone. Nobody may be writing the log.
func Compact(dir string) error {
	path := filepath.Join(dir, LogFile)
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("compact results: %w", err)
	}
	defer func() { _ = file.Close() }() // nothing is written to it
	old, end, err := superseded(file)
	if err != nil || len(old) == 0 {
		return err
	}
	if err := os.Link(path, before(dir)); err != nil {
		return fmt.Errorf("keep the results before the rerun: %w", err)
	}
	err = writeFile(path, func(w io.Writer) error {
		b := bufio.NewWriterSize(w, 64<<10)
		lines := newLines(io.NewSectionReader(file, 0, end))
		for lines.next() {
			if _, replaced := old[lines.start]; replaced {
				continue
			}
			if lines.err != nil {
				return fmt.Errorf("line %d: %w", lines.number, lines.err)
			}
			_, err := b.Write(append(lines.line, '\n'))
			if err != nil {
				return err
			}
		}
		return errors.Join(lines.failed, b.Flush())
	})
	if err != nil {
		return fmt.Errorf("compact %s: %w", path, err)
	}
	return nil
}

// before returns a free name for the log as it was.
func before(dir string) string {
	for n := 1; ; n++ {
		name := filepath.Join(dir, fmt.Sprintf("results.before-%d.jsonl", n))
		if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
			return name
		}
	}
}
