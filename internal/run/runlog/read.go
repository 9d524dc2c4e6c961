package runlog

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Tests is a stream of records that can be iterated more than once, such as Read's.
// An iteration may yield an error with a nil record and continue.
type Tests = iter.Seq2[*result.Test, error]

// Read returns the records of the log in dir as they are when an iteration begins, in the order of the file.
// Of records with the same Key only the last is yielded. Each record is the caller's own.
// Memory is one record and, while the first iteration begins, some 50 bytes per line, whatever the size of the file.
//
// A line that cannot be read is yielded as an error that names it, and reading continues after it;
// a last line without an end, as a crash or a writer at work leaves it, is not there yet.
func Read(dir string) Tests { return ReadAll(dir, result.Run{}) }

// ReadRepeats is Read for RepeatFile; without one there are none.
func ReadRepeats(dir string) Tests {
	path := filepath.Join(dir, RepeatFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return func(func(*result.Test, error) bool) {}
	}
	return whole(read(path))
}

// read returns the records of a log. The brief form is read when it is first used.
func read(path string) Stream {
	seen := &replaced{}
	return func(yield func(*Record, error) bool) {
		file, err := os.Open(path)
		if err != nil {
			yield(nil, fmt.Errorf("read results: %w", err))
			return
		}
		defer func() { _ = file.Close() }() // nothing was written
		old, end, err := seen.in(file)
		if err != nil {
			yield(nil, fmt.Errorf("read results %s: %w", path, err))
			return
		}
		lines, brief := newLines(io.NewSectionReader(file, 0, end)), NewBrief(Checks)
		for lines.next() {
			if _, ok := old[lines.start]; ok || len(lines.line) == 0 {
				continue
			}
			r, err := &Record{line: lines.line}, lines.err
			if err == nil {
				r.Brief, _, err = brief.Read(lines.line)
			}
			if r.place = fmt.Sprintf("read results %s: line %d", path, lines.number); err != nil {
				r, err = nil, fmt.Errorf("%s: %w", r.place, err)
			}
			if !yield(r, err) {
				return
			}
		}
		if lines.failed != nil {
			yield(nil, fmt.Errorf("read results %s: %w", path, lines.failed))
		}
	}
}

// ReadAll is Read for a run whose record has been read: of a run that has ended, records that its totals count and that
// the log has no longer are an error at the end. Without it a test that failed could be missing unseen.
func ReadAll(dir string, run result.Run) Tests { return whole(ReadRecords(dir, run)) }

// Briefs returns the records of a stream in brief: each counts until the next one, but for its strings.
func Briefs(records Stream) Tests {
	return func(yield func(*result.Test, error) bool) {
		for r, err := range records {
			if err != nil {
				r = &Record{}
			}
			if !yield(r.Brief, err) {
				return
			}
		}
	}
}

// whole returns the records of a stream with everything.
func whole(records Stream) Tests {
	return func(yield func(*result.Test, error) bool) {
		for r, err := range records {
			var t *result.Test
			if err == nil {
				t, err = r.Decode()
			}
			if !yield(t, err) {
				return
			}
		}
	}
}

// Record is a record of a log.
type Record struct {
	// Brief lacks the messages, the evidence of checks, and ids (Checks). It counts until the next record is read, but
	// for its strings.
	Brief *result.Test
	// whole, or else line and place, give all of it.
	whole *result.Test
	line  []byte
	place string
}

// RecordOf returns a record that was not read from a log.
func RecordOf(t *result.Test) *Record { return &Record{Brief: t, whole: t} }

// Decode returns the record with everything. It must be called before the next record is read; the caller owns it.
func (r *Record) Decode() (*result.Test, error) {
	if r.whole != nil {
		return r.whole, nil
	}
	t, err := Decode(r.line)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.place, err)
	}
	return t, nil
}

// Stream is a stream of records that can be iterated more than once. An iteration may yield an error with a nil
// record and continue.
type Stream = iter.Seq2[*Record, error]

// ReadRecords returns the records of a log as Read does, each in brief, with the error of ReadAll at the end.
func ReadRecords(dir string, run result.Run) Stream {
	return all(dir, run, read(filepath.Join(dir, LogFile)))
}

// all adds the error of ReadAll to the records of a run.
func all(dir string, run result.Run, records Stream) Stream {
	if run.ExitCode == nil {
		return records
	}
	left := map[result.Key]bool{}
	for _, key := range run.LeftOut {
		left[key] = true
	}
	return func(yield func(*Record, error) bool) {
		found := 0
		for r, err := range records {
			if err == nil && r.Brief.Trial == 0 && !left[r.Brief.Key()] {
				found++
			}
			if !yield(r, err) {
				return
			}
		}
		if found < run.Totals.Tests {
			yield(nil, fmt.Errorf("read results %s: it has %d of the %d records that %s counts",
				filepath.Join(dir, LogFile), found, run.Totals.Tests, RunFile))
		}
	}
}

// replaced remembers what superseded found in a log that has not grown since: its keys take more memory than anything
// else here, and several renderers read the same log at once.
type replaced struct {
	mu      sync.Mutex
	size    int64
	changed time.Time
	old     map[int64]struct{}
	end     int64
}

func (r *replaced) in(file *os.File) (old map[int64]struct{}, end int64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	info, err := file.Stat()
	if err != nil {
		return nil, 0, err
	}
	if r.old != nil && r.size == info.Size() && r.changed.Equal(info.ModTime()) {
		return r.old, r.end, nil
	}
	r.old, r.end, err = superseded(file)
	r.size, r.changed = info.Size(), info.ModTime()
	return r.old, r.end, err
}

// superseded returns where the lines begin that a later line with the same key replaces, and where the last whole line
// ends.
func superseded(file *os.File) (old map[int64]struct{}, end int64, err error) {
	// Half of SHA-256 stands for the key: 24 bytes per line, and no two keys will ever share it.
	last := map[[16]byte]int64{}
	old = map[int64]struct{}{}
	lines := newLines(file)
	for lines.next() {
		key, ok := keyOf(lines.line)
		if lines.torn && (!ok || !json.Valid(lines.line)) {
			break
		}
		end = lines.end
		if lines.err != nil || !ok {
			continue
		}
		sum := sha256.Sum256(fmt.Appendf(nil, "%d %d %d %s %s %s",
			len(key.Suite), len(key.TestID), key.Trial, key.Suite, key.TestID, key.Target))
		id := [16]byte(sum[:16])
		if before, ok := last[id]; ok {
			old[before] = struct{}{}
		}
		last[id] = lines.start
	}
	return old, end, lines.failed
}

// keyOf returns the key of a record without reading it all: Append writes the key's fields first.
// A line in another order, as another program may write it, is read whole.
func keyOf(line []byte) (result.Key, bool) {
	b := Brief{cursor: cursor{line: line}}
	if key := b.keyAhead(); !b.lost {
		return key, true
	}
	var t struct {
		Suite  string `json:"suite"`
		TestID string `json:"test_id"`
		Target string `json:"target"`
		Trial  int    `json:"trial"`
	}
	err := json.Unmarshal(line, &t)
	return result.Key{Suite: t.Suite, TestID: t.TestID, Target: t.Target, Trial: t.Trial}, err == nil
}

var errTooLong = errors.New("it is longer than 64 MB")

// lines reads a file line by line, each without its break. The fields describe the line that next found.
type lines struct {
	r          *bufio.Reader
	long       []byte
	line       []byte
	start, end int64
	number     int
	torn       bool  // the line has no break
	err        error // the line cannot be had
	failed     error // nothing more can be had
}

func newLines(r io.Reader) *lines { return &lines{r: bufio.NewReaderSize(r, 256<<10)} }

func (l *lines) next() bool {
	l.start, l.err, l.long = l.end, nil, l.long[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		l.end += int64(len(part))
		if errors.Is(err, bufio.ErrBufferFull) {
			if len(l.long) < maxLine {
				l.long = append(l.long, part...)
			} else {
				l.err = errTooLong
			}
			continue
		}
		l.torn = errors.Is(err, io.EOF)
		if err != nil && !l.torn {
			l.failed = err
			return false
		}
		if l.line = part; len(l.long) > 0 {
			l.long = append(l.long, part...)
			l.line = l.long
		}
		l.number++
		l.line = bytes.TrimSpace(l.line)
		return l.end > l.start
	}
}
