package limit

import (
	"context"
	"crypto/rand"
	"sync"
	"time"
)

// Memory keeps buckets and budgets in the process. The zero value is ready to use. It is safe for concurrent use.
type Memory struct {
	mu    sync.Mutex
	until map[string]int64
	spent map[[2]string]Spent
	salt  string
	// swept is how many buckets were left when those that are full were last dropped.
	swept int
}

var _ Store = (*Memory)(nil)

// sweepFrom is how many buckets are kept before full ones are dropped.
const sweepFrom = 1024

// Acquire implements Store.
func (m *Memory) Acquire(_ context.Context, now time.Time,
	buckets ...Bucket) (empty int, wait time.Duration, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := make([]int64, len(buckets))
	for i, b := range buckets {
		if next[i], wait = b.Acquire(now, m.until[b.Name]); wait > 0 {
			return i, wait, nil
		}
	}
	if m.until == nil {
		m.until = map[string]int64{}
	}
	m.sweep(now)
	for i, b := range buckets {
		m.until[b.Name] = next[i]
	}
	return -1, 0, nil
}

// sweep drops buckets that are full, once there are twice as many as after the last time.
func (m *Memory) sweep(now time.Time) {
	if len(m.until) < max(sweepFrom, 2*m.swept) {
		return
	}
	for name, until := range m.until {
		if until <= now.UnixMicro() {
			delete(m.until, name)
		}
	}
	m.swept = len(m.until)
}

// Spend implements Store.
func (m *Memory) Spend(_ context.Context, site, day string, s Spent) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.spent == nil {
		m.spent = map[[2]string]Spent{}
	}
	for known := range m.spent { // days of one site are few
		if known[0] == site && known[1] < RetainedSince(day) {
			delete(m.spent, known)
		}
	}
	key := [2]string{site, day}
	m.spent[key] = Spent{Tokens: m.spent[key].Tokens + s.Tokens, CostUSD: m.spent[key].CostUSD + s.CostUSD}
	return nil
}

// Spent implements Store.
func (m *Memory) Spent(_ context.Context, site, day string) (Spent, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.spent[[2]string{site, day}], nil
}

// Salt implements Store.
func (m *Memory) Salt(context.Context) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.salt == "" {
		m.salt = rand.Text()
	}
	return m.salt, nil
}
