package report

import (
	"runtime"
	"slices"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// maxKept bounds what a Builder keeps, in bytes of the log.
const maxKept = 4 << 20

// Builder prepares the report of a run while the run is held: it decodes each record, and draws its conversation for the page, in the
// time that the run spends waiting for replies. Of a run that outgrows its memory the report is made from the log.
// Make it with Watch.
type Builder struct {
	log   *runlog.Log
	draws bool // a page is wanted

	mu      sync.Mutex
	records []*record
	next    int // the first record that no worker has taken
	size    int
	workers int
	gaveUp  bool
	working sync.WaitGroup
}

// record is a line of the log and what a worker has made of it. A record without a test could not be read.
type record struct {
	line []byte
	draw bool
	test *result.Test
	html []byte
}

// Watch returns a Builder for the run whose log has just been opened, before the first Append; formats are those that will be written.
// It takes over log.Written. Of a resumed run it keeps nothing, since what the log held before may be replaced.
func Watch(log *runlog.Log, formats FormatTable) *Builder {
	b := &Builder{log: log, draws: slices.Contains(formats.Names(), htmlFormat), gaveUp: log.Resumed()}
	if !b.gaveUp {
		log.Written = b.add
	}
	return b
}

// Report returns the report of the run once nothing more is appended. It waits for what is still being prepared.
func (b *Builder) Report(run result.Run) *Report {
	b.working.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	fromLog := New(run, runlog.Read(b.log.Dir()))
	if b.gaveUp {
		return fromLog
	}
	seen := make(map[result.Key]struct{}, len(b.records))
	drawn := make(map[*result.Test][]byte, len(b.records))
	for _, r := range b.records {
		if r.test == nil {
			return fromLog
		}
		if _, replaced := seen[r.test.Key()]; replaced {
			return fromLog
		}
		seen[r.test.Key()] = struct{}{}
		if r.html != nil {
			drawn[r.test] = r.html
		}
	}
	records := b.records
	made := New(run, func(yield func(*result.Test, error) bool) {
		for _, r := range records {
			if !yield(r.test, nil) {
				return
			}
		}
	})
	made.drawn = drawn
	return made
}

// add takes a line of the log. Workers come when there is something to do and go when there is not.
func (b *Builder) add(line []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.size += len(line); b.gaveUp || b.size > maxKept {
		b.gaveUp, b.records = true, nil
		return
	}
	b.records = append(b.records, &record{line: line, draw: b.draws})
	if b.workers < runtime.GOMAXPROCS(0) {
		b.workers++
		b.working.Go(b.work)
	}
}

func (b *Builder) work() {
	for r := b.take(); r != nil; r = b.take() {
		r.prepare()
	}
}

// take returns the next record that is to be prepared, or nil, after which the worker has ended.
func (b *Builder) take() *record {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next >= len(b.records) {
		b.workers--
		return nil
	}
	b.next++
	return b.records[b.next-1]
}

// prepare decodes the record and draws its conversation. What it cannot do is left to whoever needs it.
func (r *record) prepare() {
	t, err := runlog.Decode(r.line)
	if r.line = nil; err != nil {
		return
	}
	if r.draw && t.Trials == nil {
		if html, err := drawConversation(t); err == nil {
			r.html = html
		}
	}
	r.test = t
}
