package archive

import (
	"fmt"
	"io"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"rehearse/internal/result"
	"rehearse/internal/runlog"
)

// Read returns the record of a row, whole. The caller owns it.
func (r *Run) Read(row *Row) (*result.Test, error) {
	log, err := runlog.OpenLog(r.Dir)
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	defer func() { _ = log.Close() }() // nothing was written
	return readAt(log, row, nil, runlog.Decode)
}

// readAt reads the line of a row, and holds that it is still the row's. It reads into buffer, where that has room.
func readAt(log io.ReaderAt, row *Row, buffer []byte, decode func([]byte) (*result.Test, error)) (*result.Test, error) {
	line := slices.Grow(buffer[:0], row.length)[:row.length]
	if _, err := log.ReadAt(line, row.start); err != nil {
		return nil, fmt.Errorf("read the record of test %s: %w", row.TestID, err)
	}
	t, err := decode(line)
	if err == nil && t.Key() != row.Key {
		err = errAnew
	}
	if err != nil {
		return nil, fmt.Errorf("read the record of test %s: %w", row.TestID, err)
	}
	return t, nil
}

// Grades calls each with the key and the scores of the record of every row, several at a time. A record counts until each returns.
func (r *Run) Grades(rows []*Row, each func(i int, t *result.Test)) error {
	log, err := runlog.OpenLog(r.Dir)
	if err != nil {
		return fmt.Errorf("read results: %w", err)
	}
	defer func() { _ = log.Close() }() // nothing was written
	var work errgroup.Group
	workers := runtime.GOMAXPROCS(0)
	for worker := range workers {
		work.Go(func() error {
			b, longest := newBrief(false), 0
			b.grades = true
			for i := worker; i < len(rows); i += workers {
				longest = max(longest, rows[i].length)
			}
			buffer := make([]byte, longest)
			for i := worker; i < len(rows); i += workers {
				decode := b.read
				if !rows[i].inOrder { // it may have other scores behind those that are read
					decode = runlog.Decode
				}
				t, err := readAt(log, rows[i], buffer, decode)
				if err != nil {
					return err
				}
				each(i, t)
			}
			return nil
		})
	}
	return work.Wait()
}
