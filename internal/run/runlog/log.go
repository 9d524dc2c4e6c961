// Package runlog keeps the log of a run: a folder with run.json, which describes the run, and results.jsonl, to which a
// record is appended as each test ends. Whatever else is written of a run can be made again from the two.
package runlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Names of the files in the folder of a run.
const (
	LogFile = "results.jsonl"
	// AnnotationFile has what people said of the run.
	AnnotationFile = "annotations.jsonl"
	TornFile       = "results.jsonl.torn"
	RunFile        = "run.json"
	// RepeatFile has the conversations that a gate ran again. They count nowhere else.
	RepeatFile  = "repeats.jsonl"
	ArtifactDir = "artifacts"
)

const (
	// maxLine bounds one record; a longer one could not be read back in bounded memory.
	maxLine = 64 << 20
	// syncEvery and syncAt bound what a power cut can take: records of that time, at most that many.
	syncEvery = 250 * time.Millisecond
	syncAt    = 64
)

// Log is the record of a run being written: one line per test, appended as each ends.
// It is safe for concurrent use; one process writes a log at a time. Make it with Open, release it with Close.
type Log struct {
	// Redact, if set before the first Append, returns a line without its secrets: the line itself where it has none. It
	// gets a line of JSON without the line break, must not change it, must return one line of JSON, and is called by
	// several goroutines at once.
	Redact func(line []byte) []byte
	// Torn is how many bytes of an unfinished last line Open moved to TornFile.
	Torn int64

	dir, path string

	mu     sync.Mutex
	file   *os.File
	size   int64
	dirty  int   // records since the last fsync
	failed error // of the last fsync
	closed bool

	first, full chan struct{}
	quit, done  chan struct{}
}

// Open opens the log in dir to append to it, and makes both if they are missing.
// An unfinished last line, left by a crash, is moved to TornFile, so that its test counts as not done.
func Open(dir string) (*Log, error) { return open(dir, LogFile, TornFile) }

// OpenRepeats is Open for RepeatFile.
func OpenRepeats(dir string) (*Log, error) { return open(dir, RepeatFile, RepeatFile+".torn") }

func open(dir, name, tornName string) (*Log, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open results log: %w", err)
	}
	path := filepath.Join(dir, name)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open results log: %w", err)
	}
	size, torn, err := repair(file, filepath.Join(dir, tornName))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("mend results log %s: %w", path, err), file.Close())
	}
	l := &Log{
		Torn: torn, dir: dir, path: path, file: file, size: size,
		first: make(chan struct{}, 1), full: make(chan struct{}, 1),
		quit: make(chan struct{}), done: make(chan struct{}),
	}
	go l.sync()
	return l, nil
}

// Dir returns the folder of the run.
func (l *Log) Dir() string { return l.dir }

// Append writes one record. When it returns, a crash of the process loses nothing of it;
// a power cut may lose what was appended in the last quarter of a second.
func (l *Log) Append(t *result.Test) error {
	line, err := l.Line(t)
	if err != nil {
		return err
	}
	return l.Write(line)
}

// Line returns a record as it stands in the log, without a break.
func (l *Log) Line(t *result.Test) ([]byte, error) {
	line, err := encode(t)
	if err != nil {
		return nil, fmt.Errorf("record test %s: %w", t.TestID, err)
	}
	if l.Redact != nil {
		redacted := l.Redact(line)
		if !bytes.Equal(redacted, line) && (!json.Valid(redacted) || bytes.IndexByte(redacted, '\n') >= 0) {
			return nil, fmt.Errorf("record test %s: redaction left no valid line of JSON", t.TestID)
		}
		line = redacted
	}
	if len(line) >= maxLine {
		return nil, fmt.Errorf("record test %s: its record of %d MB is over the limit of %d MB", t.TestID,
			len(line)>>20, maxLine>>20)
	}
	return line, nil
}

// Write writes one line, which Line has made. It promises what Append does.
func (l *Log) Write(line []byte) error {
	line = append(line, '\n')

	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return fmt.Errorf("write results log %s: %w", l.path, os.ErrClosed)
	}
	if n, err := l.file.Write(line); err != nil {
		if n > 0 {
			// Half a line would make the next one unreadable too.
			err = errors.Join(err, l.file.Truncate(l.size))
		}
		return fmt.Errorf("write results log: %w", err)
	}
	l.size += int64(len(line))
	if l.dirty++; l.dirty == 1 {
		signal(l.first)
	} else if l.dirty == syncAt {
		signal(l.full)
	}
	return l.failed
}

// Close brings everything to disk and closes the file. Calls after the first do nothing.
func (l *Log) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	l.mu.Unlock()
	close(l.quit)
	<-l.done
	l.fsync()
	return errors.Join(l.failed, l.file.Close())
}

// sync is the log's one goroutine: it calls fsync once per batch, while others go on appending.
func (l *Log) sync() {
	defer close(l.done)
	for {
		select {
		case <-l.first:
		case <-l.quit:
			return
		}
		timer := time.NewTimer(syncEvery)
		select {
		case <-timer.C:
		case <-l.full:
		case <-l.quit:
			timer.Stop()
			return
		}
		timer.Stop()
		l.fsync()
	}
}

func (l *Log) fsync() {
	l.mu.Lock()
	dirty := l.dirty
	l.dirty = 0
	l.mu.Unlock()
	if dirty == 0 {
		return
	}
	err := l.file.Sync()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed = nil; err != nil {
		l.failed = fmt.Errorf("bring results log to disk: %w", err)
	}
}

// encode returns the record as one line without its break.
func encode(t *result.Test) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // people read and search this file
	err := e.Encode(t)
	if _, ok := errors.AsType[*json.MarshalerError](err); ok {
		// A model's tool arguments may be anything; as text they are kept, and the record is not lost.
		b.Reset()
		err = e.Encode(quoteInvalid(t))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// quoteInvalid returns a copy of t in which raw JSON that is none has become a JSON string of the same text.
func quoteInvalid(t *result.Test) *result.Test {
	fix := func(raw json.RawMessage) json.RawMessage {
		if len(raw) == 0 || json.Valid(raw) {
			return raw
		}
		quoted, _ := json.Marshal(string(raw)) // a string never fails
		return quoted
	}
	calls := func(calls []chat.ToolCall) []chat.ToolCall {
		calls = slices.Clone(calls)
		for i := range calls {
			calls[i].Args, calls[i].Result = fix(calls[i].Args), fix(calls[i].Result)
		}
		return calls
	}
	c := *t
	c.Output, c.Turns = slices.Clone(t.Output), slices.Clone(t.Turns)
	for i := range c.Output {
		c.Output[i].ToolCalls = calls(c.Output[i].ToolCalls)
	}
	for i := range c.Turns {
		c.Turns[i].ToolCalls, c.Turns[i].State = calls(c.Turns[i].ToolCalls), fix(c.Turns[i].State)
	}
	return &c
}

// signal wakes whoever receives from c, now or at its next look.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
