package runindex

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"runtime"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// batch is how many lines are read together at most; fewer, where they have batchBytes before.
const (
	batch      = 256
	batchBytes = 4 << 20
)

// lines are some lines of a log, one behind the other in bytes.
type lines struct {
	bytes []byte
	each  []line
}

// line is where a line stands in the log, and how long it is. A bad one cannot be had.
type line struct {
	start  int64
	length int
	bad    bool
}

// rowsOf are the rows of some lines, in their order.
type rowsOf struct {
	rows []*Row
	bad  int
	// end is where the last line ends.
	end int64
}

// read adds the rows of the lines from r.end on. r.mu is held.
func (r *Run) read(log *os.File) error {
	tail := &runlog.Tail{From: r.end}
	buffers := newSpares()
	begin := func() func(lines) rowsOf {
		b := runlog.NewBrief(runlog.Outcomes)
		return func(some lines) rowsOf {
			defer buffers.put(some.bytes) // a row has copies
			return rowsIn(b, some)
		}
	}
	err := inOrder(runtime.GOMAXPROCS(0), batches(tail, log, buffers), begin, func(some rowsOf) {
		r.bad += some.bad
		for _, row := range some.rows {
			r.add(row)
		}
		r.lexicon.expect(some.rows)
		r.reading.read.Store(some.end)
	})
	if err != nil {
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

// batches cuts a log into batches of lines.
func batches(tail *runlog.Tail, log *os.File, buffers spares) iter.Seq2[lines, error] {
	return func(yield func(lines, error) bool) {
		var some lines
		for l, err := range tail.Lines(log) {
			if err != nil {
				yield(some, err)
				return
			}
			some.each = append(some.each, line{l.Start, len(l.Bytes), l.Err != nil})
			some.bytes = append(some.bytes, l.Bytes...)
			if len(some.each) < batch && len(some.bytes) < batchBytes {
				continue
			}
			if !yield(some, nil) {
				return
			}
			some = lines{bytes: buffers.take(), each: make([]line, 0, batch)}
		}
		if len(some.each) > 0 {
			yield(some, nil)
		}
	}
}

// rows makes rows of lines.
func rowsIn(b *runlog.Brief, some lines) (made rowsOf) {
	at := 0
	for _, l := range some.each {
		text := some.bytes[at : at+l.length]
		at += l.length
		made.end = l.start + int64(l.length)
		if l.bad {
			made.bad++
			continue
		}
		t, inOrder, err := b.Read(text)
		if err != nil || !isRecord(t) { // what is no record is counted
			made.bad++
			continue
		}
		row := rowOf(t, l.start, l.length)
		row.inOrder, row.sum = inOrder, sumOf(text)
		made.rows = append(made.rows, &row)
	}
	return made
}

// isRecord reports whether what was read is the record of a test: it names one, and says how it came out.
func isRecord(t *result.Test) bool {
	return t.TestID != "" && slices.Contains(result.Verdicts, t.Verdict)
}

// Decode reads a line of a log. What the index would count as unreadable is an error.
func Decode(line []byte) (*result.Test, error) {
	t, err := runlog.Decode(line)
	if err == nil && !isRecord(t) {
		err = errors.New("it names no test, or not how the test came out")
	}
	return t, err
}
