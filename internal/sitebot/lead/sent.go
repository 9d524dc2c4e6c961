package lead

import (
	"context"
	"sync"
)

// Sent remembers what was sent, so that it is sent once. Implementations are safe for concurrent use; one that several processes
// share makes it once among them.
type Sent interface {
	// Claim takes a key, and returns whether it was free.
	Claim(ctx context.Context, key string) (bool, error)
	// Release frees the key of something that could not be delivered.
	Release(ctx context.Context, key string) error
}

// memoryMost is how many keys a Memory holds: some ten megabytes.
const memoryMost = 100_000

// Memory is a Sent within the process. It holds the 100,000 keys that were claimed last. The zero Memory is empty and ready; it is
// safe for concurrent use.
type Memory struct {
	mu   sync.Mutex
	keys map[string]int // its place in ring
	ring []string
	next int
}

// Claim implements Sent; it never fails.
func (m *Memory) Claim(_ context.Context, key string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, taken := m.keys[key]; taken {
		return false, nil
	}
	if m.keys == nil {
		m.keys = map[string]int{}
	}
	if len(m.ring) < memoryMost {
		m.ring = append(m.ring, key)
		m.keys[key] = len(m.ring) - 1
		return true, nil
	}
	if old := m.ring[m.next]; m.keys[old] == m.next {
		delete(m.keys, old)
	}
	m.ring[m.next], m.keys[key] = key, m.next
	m.next = (m.next + 1) % memoryMost
	return true, nil
}

// Release implements Sent; it never fails.
func (m *Memory) Release(_ context.Context, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.keys, key)
	return nil
}
