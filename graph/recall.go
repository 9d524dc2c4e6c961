package graph

import "sync"

// maxRecalled bounds the bytes of the states that are kept.
const maxRecalled = 32 << 20

// recall keeps the decoded states of threads that were read lately: a turn decodes only what was added since the last
// one, and not the whole conversation. It is safe for concurrent use.
type recall[S any] struct {
	mu      sync.Mutex
	threads map[string]recalled[S]
	bytes   int
}

// recalled is what is known of a thread: its state after a chain of records. It is shared and never changed; slices in
// it have no room to spare, so that nodes may append to them.
type recalled[S any] struct {
	last    Record // of the chain, without what it appends
	records int    // in the chain
	bytes   int    // of the lists, as they are stored
	state   *S
}

// leadsTo reports whether a chain begins with the known records. Comparing one id is enough: each record names its
// parent.
func (r *recalled[S]) leadsTo(chain []Record) bool {
	return r.records > 0 && r.records <= len(chain) && chain[r.records-1].ID == r.last.ID
}

// size returns what the state takes where it is stored.
func (r *recalled[S]) size() int { return r.bytes + len(r.last.Values) }

// checkpoint returns what is known as the checkpoint of its last record; the state is shared.
func (r *recalled[S]) checkpoint(last Record) Checkpoint[S] {
	at := checkpoint(last, *r.state)
	at.Bytes = r.size()
	return at
}

// weight returns the bytes that a thread counts for, with the fields both decoded and as they are stored: at least a
// kilobyte, because there may be many small ones.
func (r *recalled[S]) weight() int { return r.bytes + 2*len(r.last.Values) + 1<<10 }

func (r *recall[S]) of(thread string) recalled[S] {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.threads[thread]
}

// remember replaces what was known of the thread. Beyond the bound, other threads are forgotten.
func (r *recall[S]) remember(thread string, known recalled[S]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.threads == nil {
		r.threads = map[string]recalled[S]{}
	}
	r.drop(thread)
	r.threads[thread] = known
	r.bytes += known.weight()
	for name := range r.threads {
		if r.bytes <= maxRecalled {
			return
		}
		r.drop(name)
	}
}

func (r *recall[S]) forget(thread string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(thread)
}

func (r *recall[S]) drop(thread string) {
	if known, there := r.threads[thread]; there {
		r.bytes -= known.weight()
		delete(r.threads, thread)
	}
}
