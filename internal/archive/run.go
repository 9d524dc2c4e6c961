package archive

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"rehearse/internal/result"
	"rehearse/internal/runlog"
)

// Run is a run that can be looked at. It is safe for concurrent use.
type Run struct {
	// Dir is its folder.
	Dir    string
	now    func() time.Time
	search search
	// reading tells those who do not wait how far the log has been read.
	reading reading

	// looking guards what is known of run.json, so that runs can be listed while a log is read.
	looking sync.Mutex
	record  result.Run
	err     error
	written stamp     // of run.json when record was read
	looked  time.Time // when it was last seen whether somebody holds the run

	// mu guards what is known of the log.
	mu      sync.Mutex
	at      stamp
	log     os.FileInfo
	end     int64
	rows    []*Row
	places  map[result.Key]int
	shared  words
	bad     int
	lexicon *lexicon
	index   *Index
	indexed state
}

// stamp tells a file that has changed from one that has not.
type stamp struct {
	size    int64
	changed time.Time
}

// state tells a record of a run from another.
type state struct {
	written stamp
	reason  string
}

func stampOf(info os.FileInfo) stamp { return stamp{info.Size(), info.ModTime()} }

const (
	// lookEvery is how often it is seen whether a running run is still held: its end is seen at once, its death within that time.
	lookEvery = 3 * time.Second
	// batch is how many records are decoded together.
	batch = 256
)

// Record returns the record of the run as it stands: a run that has not ended and that nobody holds has the reason result.ReasonDied.
func (r *Run) Record() (result.Run, error) {
	record, _, err := r.look()
	return record, err
}

// look reads run.json if it has changed. The state tells what was read from what was read before.
func (r *Run) look() (result.Run, state, error) {
	r.looking.Lock()
	defer r.looking.Unlock()
	info, err := os.Stat(filepath.Join(r.Dir, runlog.RunFile))
	if err != nil {
		return r.record, state{}, fmt.Errorf("read record of run: %w", err)
	}
	open := r.record.ExitCode == nil && r.now().Sub(r.looked) >= lookEvery
	if now := stampOf(info); now != r.written || open {
		r.record, r.err = runlog.Look(r.Dir)
		r.written, r.looked = now, r.now()
	}
	return r.record, state{r.written, r.record.ExitReason}, r.err
}

// Index returns what the log of the run holds now. It reads only what was written since the last call; the first reads all.
func (r *Run) Index() (*Index, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	record, now, err := r.look()
	if err != nil {
		return nil, err
	}
	log, err := runlog.OpenLog(r.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return r.built(record, now, false), nil // it has not held anything yet
	}
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	defer func() { _ = log.Close() }() // nothing was written
	info, err := log.Stat()
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	if r.log == nil || !os.SameFile(r.log, info) || info.Size() < r.end {
		r.rows, r.places, r.shared, r.end, r.bad, r.at = nil, map[result.Key]int{}, words{}, 0, 0, stamp{}
		r.lexicon = &lexicon{}
	}
	changed := stampOf(info) != r.at
	r.reading.size.Store(info.Size())
	if changed {
		if err := r.read(log); err != nil {
			r.log = nil // the next call reads all of it again
			return nil, err
		}
	}
	r.log, r.at = info, stampOf(info)
	return r.built(record, now, changed), nil
}

// built returns the index of the rows. r.mu is held.
func (r *Run) built(record result.Run, now state, changed bool) *Index {
	if r.index == nil || changed || now != r.indexed {
		r.index, r.indexed = build(record, r.rows, r.bad), now
		r.index.lexicon = r.lexicon
	}
	return r.index
}

// decoded is what some lines of a log hold.
type decoded chan contents

// contents are the rows of lines, in their order, and the words of their records.
type contents struct {
	rows  []*Row
	bad   int
	words *gathered
	// end is where the last line ends.
	end int64
}

// read adds the rows of the lines from r.end on. r.mu is held.
func (r *Run) read(log *os.File) error {
	tail := &runlog.Tail{From: r.end}
	waiting := make(chan decoded, 2*runtime.GOMAXPROCS(0))
	var work errgroup.Group
	work.Go(func() error {
		defer close(waiting)
		return decode(tail, log, waiting)
	})
	for done := range waiting {
		some := <-done
		r.bad += some.bad
		for _, row := range some.rows {
			r.add(row)
		}
		r.lexicon.take(some.words, some.rows)
		r.reading.read.Store(some.end)
	}
	if err := work.Wait(); err != nil {
		return fmt.Errorf("read results: %w", err)
	}
	r.end = tail.End
	return nil
}

// add takes a row, which replaces an earlier one of the same key.
func (r *Run) add(row *Row) {
	r.shared.intern(row)
	if at, ok := r.places[row.Key]; ok {
		r.rows[at] = row
		return
	}
	r.places[row.Key] = len(r.rows)
	r.rows = append(r.rows, row)
}

// line is a copy of a line of a log.
type line struct {
	start int64
	bytes []byte
	bad   bool
}

// decode cuts a log into batches of lines and has each made into rows, several at a time. Batches come out in their order.
func decode(tail *runlog.Tail, log *os.File, waiting chan<- decoded) error {
	var batched []line
	flush := func() {
		if len(batched) == 0 {
			return
		}
		lines, done := batched, make(decoded, 1)
		batched = nil
		waiting <- done
		go func() { done <- rowsOf(lines) }()
	}
	for l, err := range tail.Lines(log) {
		if err != nil {
			return err
		}
		batched = append(batched, line{l.Start, append([]byte(nil), l.Bytes...), l.Err != nil})
		if len(batched) == batch {
			flush()
		}
	}
	flush()
	return nil
}

// rowsOf makes rows of lines.
func rowsOf(lines []line) contents {
	c := contents{words: newGathered()}
	for _, l := range lines {
		c.end = l.start + int64(len(l.bytes))
		var t *result.Test
		if !l.bad {
			t, _ = runlog.Decode(l.bytes) // what is no record is counted
		}
		if t == nil || t.TestID == "" {
			c.bad++
			continue
		}
		row := rowOf(t, l.start, len(l.bytes))
		c.rows = append(c.rows, &row)
		c.words.add(Passages(t))
	}
	return c
}

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
