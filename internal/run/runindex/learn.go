package runindex

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"os"
	"runtime"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/run/runlog"
)

// learn waits until the words of the first so many records are known. Learning goes on when nobody waits any more.
func (r *Run) learn(ctx context.Context, x *lexicon, records int) error {
	for {
		x.mu.Lock()
		if len(x.first) >= records {
			x.mu.Unlock()
			return nil
		}
		done := x.learning
		if done == nil {
			done = make(chan struct{})
			x.learning = done
			go func() {
				err := r.readWords(x)
				x.mu.Lock()
				defer x.mu.Unlock()
				x.failed, x.learning = err, nil
				close(done)
			}()
		}
		x.mu.Unlock()
		select {
		case <-done:
		case <-ctx.Done():
			return ctx.Err()
		}
		x.mu.RLock()
		err := x.failed
		x.mu.RUnlock()
		if err != nil {
			return err
		}
	}
}

// parseBatch are some records as the log has them, one behind the other.
type parseBatch struct {
	bytes []byte
	rows  []*Row
}

// learned is what one worker found in a lesson.
type learned struct {
	*gathered
	known *[]*postings
	err   error
}

// logOf opens the log that a lexicon was made of, or returns ErrAnew if another file has its place.
func (r *Run) logOf(x *lexicon) (*os.File, error) {
	log, err := runlog.OpenLog(r.Dir)
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	info, err := log.Stat()
	switch {
	case err != nil:
		err = fmt.Errorf("read results: %w", err)
	case x.log == nil || !os.SameFile(info, x.log):
		err = ErrRewritten
	}
	if err != nil {
		_ = log.Close() // nothing was written
		return nil, err
	}
	return log, nil
}

// readWords reads the words of all records that the lexicon expects. It leaves a processor to those who wait for pages.
func (r *Run) readWords(x *lexicon) error {
	log, err := r.logOf(x)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // nothing was written
	x.mu.RLock()
	rows := x.rows[len(x.first):]
	x.mu.RUnlock()
	var failed error
	buffers := newSpares()
	err = inOrder(max(1, runtime.GOMAXPROCS(0)-1), lessons(log, rows, buffers), func() func(parseBatch) learned {
		return indexWorker(buffers)
	}, func(some learned) {
		if failed = cmp.Or(failed, some.err); failed == nil {
			x.take(some.gathered, some.known)
		}
	})
	return r.doubt(cmp.Or(failed, err))
}

// indexWorker returns who finds the words of one lesson after another.
func indexWorker(buffers spares) func(parseBatch) learned {
	b, words, known := runlog.NewBrief(runlog.Texts), &gatherer{}, &[]*postings{}
	return func(some parseBatch) learned {
		defer buffers.put(some.bytes) // words are copies
		words.begin()
		at := 0
		for _, row := range some.rows {
			line := some.bytes[at : at+row.length]
			t, _, err := b.Read(line)
			if err != nil || sumOf(line) != row.sum {
				return learned{err: ErrRewritten}
			}
			words.add(Passages(t))
			at += row.length
		}
		return learned{words.gathered, known, nil}
	}
}

// lessons reads the records of rows, which stand in the order of the log.
func lessons(log io.ReaderAt, rows []*Row, buffers spares) iter.Seq2[parseBatch, error] {
	return func(yield func(parseBatch, error) bool) {
		if len(rows) == 0 {
			return
		}
		at := rows[0].start
		from := bufio.NewReaderSize(io.NewSectionReader(log, at, 1<<62), 256<<10)
		for len(rows) > 0 {
			several, length := 0, 0
			for several < min(batch, len(rows)) && length < batchBytes {
				length += rows[several].length
				several++
			}
			some := parseBatch{rows: rows[:several]}
			rows = rows[several:]
			some.bytes = slices.Grow(buffers.take(), length)[:length]
			into := some.bytes
			for _, row := range some.rows {
				if _, err := from.Discard(int(row.start - at)); err != nil {
					yield(some, ErrRewritten)
					return
				}
				if _, err := io.ReadFull(from, into[:row.length]); err != nil {
					yield(some, ErrRewritten)
					return
				}
				into, at = into[row.length:], row.start+int64(row.length)
			}
			if !yield(some, nil) {
				return
			}
		}
	}
}
