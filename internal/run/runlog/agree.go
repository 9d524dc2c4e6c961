package runlog

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Agree returns an error where a run's record counts other verdicts than the log in dir has, or where a line of the log
// is of another run or stands for a test that has one already: one of both is wrong, and neither may pass.
func Agree(dir string, run result.Run) error {
	left := map[result.Key]bool{}
	for _, key := range run.LeftOut {
		left[key] = true
	}
	tally, records := result.Tally{}, 0
	for t, err := range Read(dir) {
		if err != nil {
			return err
		}
		if t.RunID != "" && t.RunID != run.ID {
			return fmt.Errorf("%s has a record of run %s in the log of run %s", filepath.Join(dir, LogFile),
				t.RunID, run.ID)
		}
		records++
		if !left[t.Key()] {
			tally.Add(t)
		}
	}
	lines, err := countLines(filepath.Join(dir, LogFile))
	switch {
	case err != nil:
		return err
	case lines > records:
		return fmt.Errorf("%s has %d lines for %d records: some tests stand in it twice", filepath.Join(dir, LogFile),
			lines, records)
	}
	has, counts := tally.Totals(), run.Totals
	if has.Tests == counts.Tests && has.Passed == counts.Passed && has.Failed == counts.Failed &&
		has.Errors == counts.Errors && has.Skipped == counts.Skipped && has.Ungraded == counts.Ungraded {
		return nil
	}
	return fmt.Errorf(
		"%s has %d passed, %d failed, %d errors, %d ungraded and %d skipped; %s counts %d, %d, %d, %d and %d",
		filepath.Join(dir, LogFile), has.Passed, has.Failed, has.Errors, has.Ungraded, has.Skipped,
		RunFile, counts.Passed, counts.Failed, counts.Errors, counts.Ungraded, counts.Skipped)
}

// countLines counts the lines of a log that are not blank.
func countLines(path string) (n int, err error) {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read results: %w", err)
	}
	defer func() { _ = file.Close() }() // nothing was written
	lines := bufio.NewReaderSize(file, 64<<10)
	blank := true
	for {
		part, err := lines.ReadSlice('\n')
		blank = blank && len(bytes.TrimSpace(part)) == 0
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return 0, fmt.Errorf("read results: %w", err)
		}
		if !blank {
			n++
		}
		if blank = true; err != nil {
			return n, nil
		}
	}
}
