package runindex

import (
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"slices"
	"time"

	"github.com/rehearse-dev/rehearse/internal/run/runlog"
)

// ErrRewritten is that of a log which is not any more what its rows were read of. The next index is right.
var ErrRewritten = errors.New("the log has been written anew")

// seed makes the sums of lines, which count as long as the program runs.
var seed = maphash.MakeSeed()

func sumOf(line []byte) uint64 { return maphash.Bytes(seed, line) }

const (
	// maxChecked bounds how many bytes Check reads.
	maxChecked = 16 << 20
	// checkAtOnce is up to how many bytes a log that has grown is read again before its index is used. A longer one is
	// read again in the background, at most a part of the time: checkFactor times what it took passes until the next
	// time.
	checkAtOnce = 4 << 20
	checkFactor = 20
)

// Check holds that the records of rows are what they were when the index was made, so that no list shows what they said
// before. It returns ErrAnew if one is not. It reads up to maxChecked bytes; what is beyond them is checked in the
// background alone.
func (r *Run) Check(rows []*Row) error {
	if len(rows) == 0 {
		return nil
	}
	log, err := runlog.OpenLog(r.Dir)
	if err != nil {
		r.doubted.Store(true)
		return fmt.Errorf("read results: %w", err)
	}
	defer func() { _ = log.Close() }() // nothing was written
	var buffer []byte
	left := maxChecked
	for _, row := range rows {
		if left -= row.length; left < 0 {
			break
		}
		if buffer, err = lineAt(log, row, buffer); err != nil {
			return r.doubt(err)
		}
	}
	return nil
}

// doubt returns an error. One that says that the log has changed makes the next index read all of it.
func (r *Run) doubt(err error) error {
	if errors.Is(err, ErrRewritten) {
		r.doubted.Store(true)
	}
	return err
}

// lineAt reads the line of a row, and holds that it is still the row's. It reads into buffer, where that has room.
func lineAt(log io.ReaderAt, row *Row, buffer []byte) ([]byte, error) {
	line := slices.Grow(buffer[:0], row.length)[:row.length]
	_, err := log.ReadAt(line, row.start)
	if errors.Is(err, io.EOF) || err == nil && row.length > 0 && sumOf(line) != row.sum {
		err = ErrRewritten
	}
	if err != nil {
		return line, fmt.Errorf("read the record of test %s: %w", row.TestID, err)
	}
	return line, nil
}

// recheck holds that what was read of a log before it has grown still stands in it: somebody may have edited it in
// between. Of a short log it returns ErrAnew if that is not so; a long one is doubted a while later. r.mu is held.
func (r *Run) recheck(log io.ReaderAt) error {
	if r.end <= checkAtOnce {
		r.unsure = false
		return r.lexicon.unchanged(log)
	}
	if r.checking != nil || time.Now().Before(r.checkAgain) {
		return nil
	}
	r.unsure, r.checking = false, make(chan struct{})
	x := r.lexicon
	go func() {
		began := time.Now()
		err := r.unchanged(x)
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.lexicon == x { // else it has been read anew meanwhile
			_ = r.doubt(err)
		}
		close(r.checking)
		r.checking, r.checkAgain = nil, time.Now().Add(checkFactor*time.Since(began))
	}()
	return nil
}

// unchanged returns ErrAnew if a record that a lexicon knows is not in the log any more as it was.
func (r *Run) unchanged(x *lexicon) error {
	log, err := r.logOf(x)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // nothing was written
	return x.unchanged(log)
}

func (x *lexicon) unchanged(log io.ReaderAt) error {
	x.mu.RLock()
	rows := x.rows
	x.mu.RUnlock()
	buffers := newSpares()
	for some, err := range lessons(log, rows, buffers) {
		if err != nil {
			return err
		}
		at := 0
		for _, row := range some.rows {
			if sumOf(some.bytes[at:at+row.length]) != row.sum {
				return ErrRewritten
			}
			at += row.length
		}
		buffers.put(some.bytes)
	}
	return nil
}
