package worker

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
)

// mostRuns is how many runs are open at once; the one that was used least recently is closed.
const mostRuns = 8

// runs keeps the open runs.
type runs struct {
	open func(ctx context.Context, run string, payload json.RawMessage) (Runner, error)
	mu   sync.Mutex
	all  map[string]*openRun
	used uint64
}

// openRun is a run that is open, or being opened.
type openRun struct {
	ready  chan struct{}
	holder Runner
	err    error
	// users hold conversations of it; last is when it was used, by the count of uses.
	users int
	last  uint64
}

func newRuns(open func(context.Context, string, json.RawMessage) (Runner, error)) *runs {
	return &runs{open: open, all: map[string]*openRun{}}
}

// get returns the run of a job, which is opened once however many ask. done gives it back. A run that could not be
// opened is tried again by the next job.
func (r *runs) get(ctx context.Context, j orchestrator.Job) (h Runner, done func(), err error) {
	r.mu.Lock()
	one, ok := r.all[j.Run]
	if !ok {
		one = &openRun{ready: make(chan struct{})}
		r.all[j.Run] = one
	}
	r.used++
	one.users, one.last = one.users+1, r.used
	r.mu.Unlock()
	if !ok {
		one.holder, one.err = r.open(context.WithoutCancel(ctx), j.Run, j.Payload)
		close(one.ready)
	}
	done = func() { r.giveBack(j.Run, one) }
	select {
	case <-one.ready:
	case <-ctx.Done():
		done()
		return nil, nil, ctx.Err()
	}
	if one.err != nil {
		done()
		return nil, nil, one.err
	}
	return one.holder, done, nil
}

// giveBack closes what is not used any more and is one too many, or could not be opened.
func (r *runs) giveBack(run string, one *openRun) {
	r.mu.Lock()
	one.users--
	var closing []*openRun
	if one.err != nil && one.users == 0 && r.all[run] == one {
		delete(r.all, run)
	}
	for len(r.all) > mostRuns {
		oldest := ""
		for name, other := range r.all {
			if other.users == 0 && (oldest == "" || other.last < r.all[oldest].last) {
				oldest = name
			}
		}
		if oldest == "" {
			break
		}
		closing = append(closing, r.all[oldest])
		delete(r.all, oldest)
	}
	r.mu.Unlock()
	for _, other := range closing {
		_ = other.close() // what it was opened for has ended
	}
}

func (o *openRun) close() error {
	if o.holder == nil {
		return nil
	}
	return o.holder.Close()
}

// close closes all runs. Nobody uses them any more.
func (r *runs) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	var faults []error
	for _, one := range r.all {
		faults = append(faults, one.close())
	}
	_ = errors.Join(faults...) // as above
	r.all = map[string]*openRun{}
}
