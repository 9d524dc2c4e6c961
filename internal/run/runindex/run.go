package runindex

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Run is a run that can be looked at. It is safe for concurrent use.
type Run struct {
	// Dir is its folder.
	Dir    string
	now    func() time.Time
	search search
	// reading tells those who do not wait how far the log has been read.
	reading reading
	// doubted is true where a record was found to have changed: all of the log has to be read again.
	doubted atomic.Bool

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
	edges   [sha256.Size]byte // of the log up to end
	rows    []*Row
	places  map[result.Key]int
	shared  words
	bad     int
	lexicon *lexicon
	index   *Index
	indexed state
	// unsure is true where the log has grown and what stood in it before has not been held against its rows since.
	// Checking is closed when that is done, nil while nobody does; checkAgain is from when on it may be done once more.
	unsure     bool
	checking   chan struct{}
	checkAgain time.Time
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

// lookEvery is how often it is seen whether a running run is still held: its end is seen at once, its death within that
// time.
const lookEvery = 3 * time.Second

// Record returns the record of the run as it stands: a run that has not ended and that nobody holds has the reason
// result.ReasonDied.
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
		r.record, r.err = runlog.Inspect(r.Dir)
		r.written, r.looked = now, r.now()
	}
	return r.record, state{r.written, r.record.ExitReason}, r.err
}

// Index returns what the log of the run holds now. It reads only what was written since the last call; the first reads
// all.
func (r *Run) Index() (*Index, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	index, err := r.grow()
	if errors.Is(err, ErrRewritten) {
		r.log = nil
		return r.grow()
	}
	return index, err
}

// grow brings the index up to date. r.mu is held.
func (r *Run) grow() (*Index, error) {
	record, now, err := r.look()
	if err != nil {
		return nil, err
	}
	log, err := runlog.OpenLog(r.Dir)
	if errors.Is(err, fs.ErrNotExist) { // it has not held anything yet, or its log is gone
		if r.log != nil {
			r.forget(nil)
		}
		return r.built(record, now), nil
	}
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	defer func() { _ = log.Close() }() // nothing was written
	info, err := log.Stat()
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	if r.doubted.Swap(false) || !r.grown(log, info) {
		r.forget(info)
	}
	r.reading.size.Store(info.Size())
	if stampOf(info) != r.at {
		r.unsure = r.end > 0
		err := r.read(log)
		if err == nil {
			r.edges, err = edgesOf(log, r.end)
		}
		if err != nil {
			r.log = nil // the next call reads all of it again
			return nil, err
		}
		r.index = nil
	}
	r.log, r.at = info, stampOf(info)
	if r.unsure {
		if err := r.recheck(log); err != nil {
			return nil, fmt.Errorf("read results: %w", err)
		}
	}
	return r.built(record, now), nil
}

// forget makes the next reading of the log one from the beginning. r.mu is held.
func (r *Run) forget(log os.FileInfo) {
	r.log, r.rows, r.places, r.shared, r.end, r.bad, r.at = log, nil, map[result.Key]int{}, words{}, 0, 0, stamp{}
	r.index, r.lexicon, r.unsure = nil, &lexicon{log: log}, false
}

// grown reports whether a log is the one that was read, with nothing but what was appended since. Who appends makes it
// larger: one that has changed and is as large as before has been written anew. r.mu is held.
func (r *Run) grown(log *os.File, info os.FileInfo) bool {
	if r.log == nil || !os.SameFile(r.log, info) || info.Size() < r.end {
		return false
	}
	if stampOf(info) == r.at {
		return true
	}
	if info.Size() <= r.at.size {
		return false
	}
	edges, err := edgesOf(log, r.end)
	return err == nil && edges == r.edges
}

// edge is how many bytes at the beginning and at the end of what was read tell a log that has grown from one that was
// written anew in its place.
const edge = 16 << 10

// edgesOf returns a hash of the edges of a log up to where it was read.
func edgesOf(log io.ReaderAt, end int64) (sum [sha256.Size]byte, err error) {
	hash := sha256.New()
	for _, from := range []int64{0, max(0, end-edge)} {
		if _, err := io.Copy(hash, io.NewSectionReader(log, from, min(edge, end-from))); err != nil {
			return sum, fmt.Errorf("read results: %w", err)
		}
	}
	return [sha256.Size]byte(hash.Sum(nil)), nil
}

// built returns the index of the rows. r.mu is held.
func (r *Run) built(record result.Run, now state) *Index {
	if r.index == nil || now != r.indexed {
		r.index, r.indexed = build(record, r.rows, r.bad), now
		r.index.lexicon, r.index.records = r.lexicon, r.lexicon.expected()
	}
	return r.index
}
