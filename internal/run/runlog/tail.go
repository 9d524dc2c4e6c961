package runlog

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
)

// Line is a line of a log: where it begins, and its bytes without the break, which are the reader's until the next
// line. Err is set for a line that cannot be had; Number counts from 1 within what was read.
type Line struct {
	Start  int64
	Bytes  []byte
	Number int
	Err    error
}

// Tail yields the lines of a log from an offset on, also those that a later line replaces. A last line that is not
// whole, as a writer at work leaves it, is not there yet. End is the offset after the last line that was yielded, from
// which the next call goes on; it is valid when the iteration has ended.
type Tail struct {
	From int64
	End  int64
}

// Lines reads a log that was opened with OpenLog. Blank lines are passed over.
func (t *Tail) Lines(log io.ReaderAt) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		t.End = t.From
		lines := newLines(io.NewSectionReader(log, t.From, 1<<62))
		for lines.next() {
			if lines.torn && !json.Valid(lines.line) {
				return
			}
			line := Line{Start: t.From + lines.start, Bytes: lines.line, Number: lines.number, Err: lines.err}
			t.End = t.From + lines.end
			if (len(lines.line) > 0 || lines.err != nil) && !yield(line, nil) {
				return
			}
		}
		if lines.failed != nil {
			yield(Line{}, lines.failed)
		}
	}
}

// OpenLog opens the log in a folder for reading. A run that has none yet has an error that is fs.ErrNotExist.
func OpenLog(dir string) (*os.File, error) {
	path := filepath.Join(dir, LogFile)
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() { // opening a pipe waits for somebody who writes to it
		return nil, fmt.Errorf("%s is no file", path)
	}
	return os.Open(path)
}
