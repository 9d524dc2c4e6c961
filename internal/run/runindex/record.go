package runindex

import (
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Read returns the record of a row, whole, or ErrAnew if it is not any more what it was when the index was made. The
// caller owns it.
func (r *Run) Read(row *Row) (*result.Test, error) {
	log, err := runlog.OpenLog(r.Dir)
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	defer func() { _ = log.Close() }() // nothing was written
	line, err := lineAt(log, row, nil)
	if err != nil {
		return nil, r.doubt(err)
	}
	return runlog.Decode(line)
}

// Grades calls each with the key and the scores of the record of every row, several at a time. A record counts until
// each returns. It returns ErrAnew if a record is not any more what it was.
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
			b, longest := runlog.NewBrief(runlog.Grades), 0
			for i := worker; i < len(rows); i += workers {
				longest = max(longest, rows[i].length)
			}
			buffer := make([]byte, longest)
			for i := worker; i < len(rows); i += workers {
				line, err := lineAt(log, rows[i], buffer)
				if err != nil {
					return r.doubt(err)
				}
				var t *result.Test
				if rows[i].inOrder {
					t, _, err = b.Read(line)
				} else { // it may have other scores behind those that are read
					t, err = runlog.Decode(line)
				}
				if err != nil {
					return fmt.Errorf("read the record of test %s: %w", rows[i].TestID, err)
				}
				each(i, t)
			}
			return nil
		})
	}
	return work.Wait()
}
