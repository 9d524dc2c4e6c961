package sessionindex

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/lead"
)

// Memory keeps sessions with their leads and their register in the process, for development and tests. It is safe for
// concurrent use. Make it with NewMemory.
type Memory struct {
	*lead.Memory
	limit int

	mu       sync.Mutex
	sessions map[string]*memorySession
}

// memorySession is a session in memory.
type memorySession struct {
	Row
	converted, answered bool
	last                Outcome
	left                int
	turns               map[int]Turn
	feedback            map[int]Feedback
	failures            []Failure
}

var _ Index = (*Memory)(nil)

// NewMemory returns an empty Memory.
func NewMemory(limits graph.MemoryLimits) *Memory {
	return &Memory{
		Memory: lead.NewMemory(limits), limit: cmp.Or(limits.Threads, MaxStateless),
		sessions: map[string]*memorySession{},
	}
}

// SaveTurn implements Keeper.
func (m *Memory) SaveTurn(ctx context.Context, thread string, r graph.Record, rows []lead.Row, e Entry) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.SaveWith(ctx, thread, r, rows); err != nil {
		return err
	}
	h := m.begin(thread, e.Site, e.Session, e.Began())
	if e.Turn == nil && e.Turns != h.Turns {
		h.Logged = e.Turns
		beyond := func(n int) bool { return n > e.Turns }
		maps.DeleteFunc(h.turns, func(n int, _ Turn) bool { return beyond(n) })
		maps.DeleteFunc(h.feedback, func(n int, _ Feedback) bool { return beyond(n) })
		h.count()
	}
	h.Last, h.Turns, h.converted, h.Email, h.Route = e.At, e.Turns, e.Converted, e.Email, e.Route
	h.Language, h.Person = cmp.Or(e.Language, h.Language), cmp.Or(e.Person, h.Person)
	if e.Turn != nil {
		h.last, h.answered, h.left = Open, true, 0
		h.turns[e.Turn.Number] = *e.Turn
	}
	return nil
}

// begin returns what is kept of a session, and makes it where there is nothing.
func (m *Memory) begin(thread, site, session string, at time.Time) *memorySession {
	if h := m.sessions[thread]; h != nil {
		return h
	}
	if len(m.sessions) >= m.limit {
		oldest := slices.MinFunc(slices.Collect(maps.Values(m.sessions)), func(a, b *memorySession) int {
			return a.Last.Compare(b.Last)
		})
		delete(m.sessions, Thread(oldest.Site, oldest.Session))
	}
	h := &memorySession{
		Row: Row{Site: site, Session: session, Started: at, Last: at}, last: Open, turns: map[int]Turn{},
		feedback: map[int]Feedback{},
	}
	m.sessions[thread] = h
	return h
}

// count counts the thumbs.
func (h *memorySession) count() {
	h.Feedback = Thumbs{}
	for _, f := range h.feedback {
		if f.Rating == Up {
			h.Feedback.Up++
		} else {
			h.Feedback.Down++
		}
	}
}

// row returns the session as it is listed.
func (h *memorySession) row() Row {
	r := h.Row
	if r.Outcome = h.last; h.converted {
		r.Outcome = Converted
	}
	return r
}

// Delete forgets a session with its register.
func (m *Memory) Delete(ctx context.Context, thread string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.sessions, thread)
	return m.Memory.Delete(ctx, thread)
}

// Erase forgets a session with its leads and its register.
func (m *Memory) Erase(ctx context.Context, thread, site, session string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.sessions, thread)
	return m.Memory.Erase(ctx, thread, site, session)
}

// Sessions implements Keeper.
func (m *Memory) Sessions(_ context.Context, q Query) ([]Row, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	rows := []Row{}
	for _, h := range m.sessions {
		if r := h.row(); q.selects(&r) {
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(a, b Row) int {
		if !q.After.Changed.IsZero() {
			return strings.Compare(a.Cursor().Thread, b.Cursor().Thread)
		}
		return b.Compare(&a)
	})
	return rows[:min(len(rows), q.Limit)], nil
}

// selects reports whether a query selects a session.
func (q Query) selects(r *Row) bool {
	return (q.Site == "" || q.Site == r.Site) && (q.Outcome == "" || q.Outcome == r.Outcome) &&
		!r.Last.Before(q.Since) && (q.Until.IsZero() || r.Last.Before(q.Until)) && q.After.before(r)
}

// before reports whether a place is before a session.
func (p Cursor) before(r *Row) bool {
	at := r.Cursor()
	if !p.Changed.IsZero() {
		return !r.Last.Before(p.Changed) && !r.Started.After(p.Top) && at.Thread > p.Thread
	}
	return p.Thread == "" || cmp.Or(at.Last.Compare(p.Last), strings.Compare(at.Thread, p.Thread)) < 0
}

// Session implements Keeper.
func (m *Memory) Session(_ context.Context, site, session string) (*Stored, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.sessions[Thread(site, session)]
	if h == nil {
		return nil, nil
	}
	k := &Stored{Row: h.row(), Failures: slices.Clone(h.failures)}
	for _, n := range slices.Sorted(maps.Keys(h.turns)) {
		k.Turns = append(k.Turns, h.turns[n])
	}
	for _, n := range slices.Sorted(maps.Keys(h.feedback)) {
		k.Feedback = append(k.Feedback, h.feedback[n])
	}
	return k, nil
}

// Note implements Keeper.
func (m *Memory) Note(_ context.Context, site, session string, n Note) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	thread := Thread(site, session)
	h := m.sessions[thread]
	if h == nil && n.Failure != nil {
		h = m.begin(thread, site, session, n.Failure.At)
		h.Language = n.Language
	}
	switch {
	case h == nil:
		return false, nil
	case n.Failure != nil:
		h.last, h.Last, h.Failed = Failed, n.Failure.At, h.Failed+1
		h.failures = append(h.failures, *n.Failure)
		h.failures = h.failures[max(0, len(h.failures)-MaxFailures):]
	case n.Blocked != nil:
		h.last, h.Last = Blocked, *n.Blocked
	case n.Feedback != nil:
		h.feedback[n.Feedback.Turn] = *n.Feedback
		h.count()
	}
	return true, nil
}

// Pending implements Keeper.
func (m *Memory) Pending(_ context.Context, idle time.Time, limit int) ([]Row, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var rows []Row
	for _, h := range m.sessions {
		if h.Logged < h.Turns || h.answered && !h.converted && h.left != h.Turns && !h.Last.After(idle) {
			rows = append(rows, h.row())
		}
	}
	slices.SortFunc(rows, func(a, b Row) int { return a.Compare(&b) })
	return rows[:min(len(rows), limit)], nil
}

// Logged implements Keeper.
func (m *Memory) Logged(_ context.Context, site, session string, turn int, left bool) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.sessions[Thread(site, session)]
	if h == nil {
		return false, nil
	}
	h.Logged = max(h.Logged, turn)
	if left {
		h.left = turn
	}
	return true, nil
}
