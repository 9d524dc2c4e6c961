package runindex

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// reading is what is known of a log that is being read for somebody who may not wait for all of it.
type reading struct {
	mu   sync.Mutex
	done chan struct{} // closed when index and err are there; nil while nothing is read
	// read and size are how much of the log has been read, and how large it is.
	read, size atomic.Int64

	index *Index
	err   error
}

// learnAfter is how long after an index its words are learned, unless somebody asks for them before: a browser paints
// the page meanwhile.
const learnAfter = time.Second

// manyRecords is from how many records on what their reading has left is collected once they are learned: it takes some
// hundred milliseconds, which nobody waits for now, and somebody would who asks for the next page.
const manyRecords = 10_000

// Await returns the index of the run, or nil when it is not there after a while: reading goes on then, and read tells
// which share of the log has been read.
func (r *Run) Await(ctx context.Context, patience time.Duration) (index *Index, read float64, err error) {
	r.reading.mu.Lock()
	done := r.reading.done
	if done == nil {
		done = make(chan struct{})
		r.reading.done = done
		r.reading.read.Store(0)
		go func() {
			index, err := r.Index()
			r.reading.mu.Lock()
			r.reading.index, r.reading.err, r.reading.done = index, err, nil
			close(done)
			r.reading.mu.Unlock()
			if err != nil {
				return
			}
			index.digests() // so that a comparison finds them
			if index.lexicon != nil {
				time.AfterFunc(learnAfter, func() {
					_ = r.learn(context.Background(), index.lexicon, index.records) // whoever asks for words is told
					if index.records >= manyRecords {
						runtime.GC()
					}
				})
			}
		}()
	}
	r.reading.mu.Unlock()
	waiting := time.NewTimer(patience)
	defer waiting.Stop()
	select {
	case <-done:
		r.reading.mu.Lock()
		defer r.reading.mu.Unlock()
		return r.reading.index, 1, r.reading.err
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	case <-waiting.C:
		return nil, float64(r.reading.read.Load()) / float64(max(1, r.reading.size.Load())), nil
	}
}

// Warm begins to read the run that is most likely looked at first: the one with the id, or the newest. What goes wrong
// is said when it is looked at.
func (a *Archive) Warm(id string) {
	if id == "" {
		id = Latest
	}
	if run := a.Find(id); run != nil {
		go func() { _, _ = run.Index() }()
	}
}
