package graph

import (
	"container/list"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// MemoryLimits bound what a Memory keeps. Zero values are the defaults.
type MemoryLimits struct {
	TTL     time.Duration // how long a thread lives after its last use; 24 hours by default
	Threads int           // how many threads live at once, the least recently used going first; 10,000 by default
}

// Memory keeps records in the process, for development and tests. It has no goroutine: expired threads are deleted by
// the next call. It is safe for concurrent use.
type Memory struct {
	limits  MemoryLimits
	mu      sync.Mutex
	threads map[string]*list.Element // of *memoryThread
	byUse   *list.List               // the most recently used first
	claims  map[string]memoryClaim   // by thread
}

type memoryThread struct {
	name    string
	records []Record       // in the order in which they came; the last is the newest
	at      map[string]int // by id: where in records
	forked  bool           // a record does not go on from the one before it
	steps   []Step
	used    time.Time
}

// memoryClaim is the claim of a call on an unfinished turn.
type memoryClaim struct {
	by    string
	until time.Time
}

var (
	_ Checkpointer = (*Memory)(nil)
	_ Peeker       = (*Memory)(nil)
	_ StepSaver    = (*Memory)(nil)
	_ Compactor    = (*Memory)(nil)
)

// NewMemory returns an empty Memory.
func NewMemory(limits MemoryLimits) *Memory {
	if limits.TTL <= 0 {
		limits.TTL = 24 * time.Hour
	}
	if limits.Threads <= 0 {
		limits.Threads = 10_000
	}
	return &Memory{
		limits: limits, threads: map[string]*list.Element{}, byUse: list.New(), claims: map[string]memoryClaim{},
	}
}

// Load implements Checkpointer. What it returns is shared: do not change it.
func (m *Memory) Load(ctx context.Context, thread, id string) ([]Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.use(thread)
	switch {
	case t == nil && id == "":
		return nil, nil
	case t == nil:
		return nil, fmt.Errorf("thread %q, checkpoint %q: %w", thread, id, ErrNoCheckpoint)
	case id == "" && len(t.records) == 0: // it has steps only
		return nil, nil
	case id == "":
		id = t.newest()
	}
	if _, known := t.at[id]; !known {
		return nil, fmt.Errorf("thread %q, checkpoint %q: %w", thread, id, ErrNoCheckpoint)
	}
	return t.chain(id), nil
}

// Newest implements Peeker.
func (m *Memory) Newest(ctx context.Context, thread string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.use(thread); t != nil {
		return t.newest(), nil
	}
	return "", nil
}

// Save implements Checkpointer.
func (m *Memory) Save(ctx context.Context, thread string, r Record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.use(thread)
	newest := ""
	if t != nil {
		newest = t.newest()
	}
	if r.Parent != newest && r.Source != SourceFork {
		return fmt.Errorf("thread %q: %w", thread, ErrConflict)
	}
	if t == nil {
		t = m.begin(thread)
	}
	t.forked = t.forked || r.Parent != newest
	t.at[r.ID] = len(t.records)
	t.records = append(t.records, r)
	if len(t.steps) > 0 {
		t.steps = slices.DeleteFunc(slices.Clone(t.steps), func(s Step) bool { return s.Turn <= r.Turn })
	}
	return nil
}

// Compact implements Compactor.
func (m *Memory) Compact(ctx context.Context, thread string, r Record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.use(thread)
	if t == nil || t.newest() != r.ID {
		return fmt.Errorf("thread %q: %w", thread, ErrConflict)
	}
	t.records, t.at, t.forked = []Record{r}, map[string]int{r.ID: 0}, false
	return nil
}

// SaveStep implements StepSaver.
func (m *Memory) SaveStep(ctx context.Context, thread string, s Step) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.use(thread)
	if t == nil {
		t = m.begin(thread)
	}
	t.steps = append(t.steps, s)
	return nil
}

// Steps implements StepSaver. What it returns is shared: do not change it.
func (m *Memory) Steps(ctx context.Context, thread string) ([]Step, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.use(thread); t != nil {
		return slices.Clip(t.steps), nil
	}
	return nil, nil
}

// DropSteps implements StepSaver.
func (m *Memory) DropSteps(ctx context.Context, thread string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.use(thread); t != nil {
		t.steps = nil
	}
	return nil
}

// ClaimTurn implements StepSaver.
func (m *Memory) ClaimTurn(ctx context.Context, thread, by string, lasts time.Duration) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if other, claimed := m.claims[thread]; claimed && other.by != by && now.Before(other.until) {
		return other.by, ErrBusy
	}
	m.claims[thread] = memoryClaim{by, now.Add(lasts)}
	return "", nil
}

// ReleaseTurn implements StepSaver.
func (m *Memory) ReleaseTurn(ctx context.Context, thread, by string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.claims[thread].by == by {
		delete(m.claims, thread)
	}
	return nil
}

// begin makes a thread that there was not.
func (m *Memory) begin(thread string) *memoryThread {
	t := &memoryThread{name: thread, at: map[string]int{}, used: time.Now()}
	m.threads[thread] = m.byUse.PushFront(t)
	m.evict()
	return t
}

// List implements Checkpointer.
func (m *Memory) List(ctx context.Context, thread string) ([]Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.use(thread)
	if t == nil {
		return nil, nil
	}
	records := slices.Clone(t.records)
	for i := range records {
		records[i].Values, records[i].Appended = nil, nil
	}
	return records, nil
}

// Delete implements Checkpointer.
func (m *Memory) Delete(ctx context.Context, thread string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if e, known := m.threads[thread]; known {
		m.forget(e)
	}
	return nil
}

// Size returns how many bytes of state a thread holds.
func (m *Memory) Size(_ context.Context, thread string) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	size := int64(0)
	if e, known := m.threads[thread]; known {
		for _, r := range e.Value.(*memoryThread).records {
			size += int64(len(r.Values) + len(r.Appended))
		}
	}
	return size, nil
}

// use returns a thread, or nil when there is none, and makes it the most recently used.
func (m *Memory) use(thread string) *memoryThread {
	m.evict()
	e, known := m.threads[thread]
	if !known {
		return nil
	}
	t := e.Value.(*memoryThread)
	t.used = time.Now()
	m.byUse.MoveToFront(e)
	return t
}

// evict forgets what is beyond the limits.
func (m *Memory) evict() {
	for e := m.byUse.Back(); e != nil; e = m.byUse.Back() {
		if m.byUse.Len() <= m.limits.Threads && time.Since(e.Value.(*memoryThread).used) < m.limits.TTL {
			return
		}
		m.forget(e)
	}
}

func (m *Memory) forget(e *list.Element) {
	delete(m.threads, e.Value.(*memoryThread).name)
	m.byUse.Remove(e)
}

// newest returns the id of the newest record, "" when there is none.
func (t *memoryThread) newest() string {
	if len(t.records) == 0 {
		return ""
	}
	return t.records[len(t.records)-1].ID
}

// chain returns the records that lead to one, oldest first.
func (t *memoryThread) chain(id string) []Record {
	if !t.forked {
		return slices.Clip(t.records[:t.at[id]+1])
	}
	var chain []Record
	for id != "" {
		r := t.records[t.at[id]]
		chain = append(chain, r)
		id = r.Parent
	}
	slices.Reverse(chain)
	return chain
}
