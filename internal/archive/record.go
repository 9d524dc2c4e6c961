package archive

import (
	"encoding/json"
	"errors"
	"fmt"

	"rehearse/internal/result"
	"rehearse/internal/runlog"
)

// Read returns the record of a row, whole. The caller owns it.
func (r *Run) Read(row *Row) (*result.Test, error) {
	return r.readBy(row, runlog.Decode)
}

// Grades returns the record of a row with its key and its scores alone, which takes a third of the time.
func (r *Run) Grades(row *Row) (*result.Test, error) {
	return r.readBy(row, func(line []byte) (*result.Test, error) {
		var part struct {
			result.Key
			Scores []result.Score `json:"scores"`
		}
		if err := json.Unmarshal(line, &part); err != nil {
			return nil, err
		}
		return &result.Test{Suite: part.Suite, TestID: part.TestID, Target: part.Target, Trial: part.Trial, Scores: part.Scores}, nil
	})
}

// readBy reads the line of a row, and holds that it is still the row's.
func (r *Run) readBy(row *Row, decode func([]byte) (*result.Test, error)) (*result.Test, error) {
	log, err := runlog.OpenLog(r.Dir)
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	defer func() { _ = log.Close() }() // nothing was written
	line := make([]byte, row.length)
	if _, err := log.ReadAt(line, row.start); err != nil {
		return nil, fmt.Errorf("read the record of test %s: %w", row.TestID, err)
	}
	t, err := decode(line)
	if err == nil && t.Key() != row.Key {
		err = errors.New("the log has been written anew")
	}
	if err != nil {
		return nil, fmt.Errorf("read the record of test %s: %w", row.TestID, err)
	}
	return t, nil
}
