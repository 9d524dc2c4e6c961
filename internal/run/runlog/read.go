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
// An iteration may yield an error with a nil record and go on.
type Tests = iter.Seq2[*result.Test, error]

// Read returns the records of the log in dir as they are when an iteration begins, in the order of the file.
// Of records with the same Key only the last is yielded. Each record is the caller's own.
// Memory is one record and, while the first iteration begins, some 50 bytes per line, whatever the size of the file.
//
// A line that cannot be read is yielded as an error that names it, and reading goes on after it;
// a last line without an end, as a crash or a writer at work leaves it, is not there yet.
func Read(dir string) Tests { return read(filepath.Join(dir, LogFile), Decode) }

// ReadRepeats is Read for RepeatFile; without one there are none.
func ReadRepeats(dir string) Tests {
	path := filepath.Join(dir, RepeatFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return func(func(*result.Test, error) bool) {}
	}
	return read(path, Decode)
}

// read decodes the records of a log.
func read(path string, decode func(line []byte) (*result.Test, error)) Tests {
	seen := &replaced{}
	return func(yield func(*result.Test, error) bool) {
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
		lines := newLines(io.NewSectionReader(file, 0, end))
		for lines.next() {
			if _, ok := old[lines.start]; ok || len(lines.line) == 0 {
				continue
			}
			t, err := (*result.Test)(nil), lines.err
			if err == nil {
				t, err = decode(lines.line)
			}
			if err != nil {
				t, err = nil, fmt.Errorf("read results %s: line %d: %w", path, lines.number, err)
			}
			if !yield(t, err) {
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
func ReadAll(dir string, run result.Run) Tests { return all(dir, run, Read(dir)) }

// ReadOutcomes is ReadAll without the conversations: each record lacks its Output and Turns. It takes less than half of
// the time.
func ReadOutcomes(dir string, run result.Run) Tests {
	return all(dir, run, read(filepath.Join(dir, LogFile), decodeOutcome))
}

func all(dir string, run result.Run, tests Tests) Tests {
	if run.ExitCode == nil {
		return tests
	}
	left := map[result.Key]bool{}
	for _, key := range run.LeftOut {
		left[key] = true
	}
	return func(yield func(*result.Test, error) bool) {
		found := 0
		for t, err := range tests {
			if err == nil && t.Trial == 0 && !left[t.Key()] {
				found++
			}
			if !yield(t, err) {
				return
			}
		}
		if found < run.Totals.Tests {
			yield(nil, fmt.Errorf("read results %s: it has %d of the %d records that %s counts",
				filepath.Join(dir, LogFile), found, run.Totals.Tests, RunFile))
		}
	}
}

// Decode reads a line of a log.
func Decode(line []byte) (*result.Test, error) {
	t := &result.Test{}
	if err := json.Unmarshal(line, t); err != nil {
		return nil, err
	}
	return known(t)
}

// decodeOutcome is Decode without Output and Turns.
func decodeOutcome(line []byte) (*result.Test, error) {
	var t struct {
		result.Test
		Output unread `json:"output"`
		Turns  unread `json:"turns"`
	}
	if err := json.Unmarshal(line, &t); err != nil {
		return nil, err
	}
	return known(&t.Test)
}

// unread is a JSON value that is not decoded.
type unread struct{}

// UnmarshalJSON implements json.Unmarshaler.
func (unread) UnmarshalJSON([]byte) error { return nil }

// known returns the record, or an error if its schema is newer than this program's.
func known(t *result.Test) (*result.Test, error) {
	if t.Schema > result.Schema {
		return nil, fmt.Errorf("schema %d was written by a newer rehearse; this program knows %d", t.Schema,
			result.Schema)
	}
	return t, nil
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
	if key, ok := keyAhead(line); ok {
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

// keyAhead reads {"schema":…,"run_id":…,"suite":…,"test_id":…,"trial":…,"target":… with trial left out where it is 0.
func keyAhead(line []byte) (key result.Key, ok bool) {
	var schema, run json.RawMessage
	line, ok = bytes.CutPrefix(line, []byte("{"))
	for _, f := range []struct {
		name     string
		into     any
		optional bool
	}{
		{`"schema":`, &schema, false},
		{`"run_id":`, &run, false},
		{`"suite":`, &key.Suite, false},
		{`"test_id":`, &key.TestID, false},
		{`"trial":`, &key.Trial, true},
		{`"target":`, &key.Target, false},
	} {
		rest, found := bytes.CutPrefix(line, []byte(f.name))
		if !found {
			ok = ok && f.optional
			continue
		}
		n := valueLen(rest)
		if !ok || n < 0 || json.Unmarshal(rest[:n], f.into) != nil {
			return key, false
		}
		line = bytes.TrimPrefix(rest[n:], []byte(","))
	}
	return key, ok
}

// valueLen returns the length of the string or number that b begins with, or -1.
func valueLen(b []byte) int {
	if len(b) == 0 || b[0] != '"' {
		return bytes.IndexAny(b, ",}")
	}
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

var errTooLong = errors.New("it is longer than 64 MB")

// lines reads a file line by line, each without its break. The fields hold for the line that next found.
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
