package runlog

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"path/filepath"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Records finds the records of a log by their keys, as the log was when it was opened: what is written to the folder
// later changes nothing. Memory is the keys, whatever the size of the records. It is safe for concurrent use. Make it
// with OpenRecords, release it with Close.
type Records struct {
	file *os.File
	at   map[result.Key]span
}

// span is where a line stands in the log.
type span struct {
	start  int64
	length int
}

// OpenRecords opens the log in dir for reading. Unlike Read it refuses a log with a line that cannot be read: a test
// that is missing would not be missed.
func OpenRecords(dir string) (r *Records, err error) {
	path := filepath.Join(dir, LogFile)
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	r = &Records{file: file, at: map[result.Key]span{}}
	lines := newLines(file)
	for lines.next() {
		key, ok := result.Key{}, false
		switch {
		case lines.err != nil:
			err = lines.err
		case len(lines.line) == 0:
			continue
		default:
			if key, ok = keyOf(lines.line); !ok {
				err = errors.New("it is no record")
			}
		}
		if err != nil {
			_ = file.Close() // nothing was written
			return nil, fmt.Errorf("read results %s: line %d: %w", path, lines.number, err)
		}
		r.at[key] = span{lines.start, int(lines.end - lines.start)}
	}
	if lines.failed != nil {
		_ = file.Close() // nothing was written
		return nil, fmt.Errorf("read results %s: %w", path, lines.failed)
	}
	return r, nil
}

// Keys yields the keys of the records in no particular order.
func (r *Records) Keys() iter.Seq[result.Key] { return maps.Keys(r.at) }

// Line returns the line of a record as it stands in the log; the caller owns it. A log without such a record is an
// error.
func (r *Records) Line(key result.Key) ([]byte, error) {
	at, ok := r.at[key]
	if !ok {
		return nil, fmt.Errorf("read results %s: there is no record of test %s (%s), trial %d", r.file.Name(),
			key.TestID, key.Target, key.Trial)
	}
	line := make([]byte, at.length)
	if _, err := io.ReadFull(io.NewSectionReader(r.file, at.start, int64(at.length)), line); err != nil {
		return nil, fmt.Errorf("read results %s: the record of test %s: %w", r.file.Name(), key.TestID, err)
	}
	return line, nil
}

// Close closes the log.
func (r *Records) Close() error { return r.file.Close() }
