package store

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// MemoryConversations stores conversations in this process, with the answers of a Fleet. Make one with
// NewMemoryConversations. It is safe for concurrent use.
type MemoryConversations struct {
	now  func() time.Time
	mu   sync.Mutex
	byID map[string]*memoryConversation
	// room is that of the last conversation that was created, bytes the size of all.
	room  ConversationLimit
	bytes int
}

type memoryConversation struct {
	Conversation
	holder string
	until  time.Time // when the lease ends; zero without one
}

// NewMemoryConversations returns an empty store with a clock.
func NewMemoryConversations(now func() time.Time) *MemoryConversations {
	return &MemoryConversations{now: now, byID: map[string]*memoryConversation{}}
}

// fault makes the error of a request.
func (m *MemoryConversations) fault(op, problem, hint string, cause error) error {
	return &Error{Op: op, Store: "the memory of this process", Problem: problem, Hint: hint, Err: cause}
}

// CreateConversation is Fleet.CreateConversation.
func (m *MemoryConversations) CreateConversation(_ context.Context, c Conversation, room ConversationLimit) error {
	check := rowCheck{what: "conversation", id: c.ID}
	check.key("id", c.ID)
	if check.err != nil {
		return check.err
	}
	const op = "write a conversation to"
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	for _, old := range m.byID {
		if !old.until.After(now) && old.UsedAt.Before(now.Add(-room.Idle)) {
			m.remove(old)
		}
	}
	switch _, taken := m.byID[c.ID]; {
	case taken:
		return m.fault(op, fmt.Sprintf("there is a conversation %q already", shortened(c.ID)), "choose another id",
			ErrExists)
	case len(m.byID) >= room.Most, m.bytes+c.Size > room.MaxBytes, len(c.Data) > maxConversation:
		return m.fault(op, "there is no room for another conversation", "delete those that have ended", ErrTooLarge)
	}
	c.Data, c.UsedAt = slices.Clone(c.Data), now
	m.byID[c.ID] = &memoryConversation{Conversation: c}
	m.bytes, m.room = m.bytes+c.Size, room
	return nil
}

func (m *MemoryConversations) remove(c *memoryConversation) {
	delete(m.byID, c.ID)
	m.bytes -= c.Size
}

// find returns a conversation that was used since an idle time. The caller has the lock.
func (m *MemoryConversations) find(op, id string, idle time.Duration) (*memoryConversation, error) {
	c, ok := m.byID[id]
	if !ok || c.UsedAt.Before(m.now().Add(-idle)) {
		return nil, m.fault(op, fmt.Sprintf("there is no conversation %q", shortened(id)), "begin one", ErrUnknown)
	}
	return c, nil
}

// LeaseConversation is Fleet.LeaseConversation.
func (m *MemoryConversations) LeaseConversation(_ context.Context, id, holder string,
	ttl, idle time.Duration) (Conversation, error) {
	const op = "lease a conversation in"
	m.mu.Lock()
	defer m.mu.Unlock()
	c, err := m.find(op, id, idle)
	switch {
	case err != nil:
		return Conversation{}, err
	case c.until.After(m.now()):
		return Conversation{}, m.fault(op, fmt.Sprintf("a turn of the conversation %q is under way", shortened(id)),
			"wait for its end", ErrBusy)
	}
	c.holder, c.until = holder, m.now().Add(ttl)
	found := c.Conversation
	found.Full = m.bytes > m.room.MaxBytes
	return found, nil
}

// asHolder makes a change that only the holder of a conversation may make.
func (m *MemoryConversations) asHolder(op, id, holder string, change func(*memoryConversation) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, ok := m.byID[id]
	if !ok || c.holder != holder || c.until.IsZero() {
		return m.fault(op, fmt.Sprintf("another server has the conversation %q", shortened(id)), "take the turn again",
			ErrLeaseLost)
	}
	return change(c)
}

// RenewConversation is Fleet.RenewConversation.
func (m *MemoryConversations) RenewConversation(_ context.Context, id, holder string, ttl time.Duration) error {
	return m.asHolder("lease a conversation in", id, holder, func(c *memoryConversation) error {
		c.until = m.now().Add(ttl)
		return nil
	})
}

// FreeConversation is Fleet.FreeConversation.
func (m *MemoryConversations) FreeConversation(_ context.Context, id, holder string, changed *Conversation) error {
	const op = "write a conversation to"
	return m.asHolder(op, id, holder, func(c *memoryConversation) error {
		if changed != nil {
			if len(changed.Data) > maxConversation {
				return m.fault(op, "the conversation is too long to be stored", "begin another one", ErrTooLarge)
			}
			m.bytes += changed.Size - c.Size
			c.Data, c.Size = slices.Clone(changed.Data), changed.Size
		}
		c.holder, c.until, c.UsedAt = "", time.Time{}, m.now()
		return nil
	})
}

// DeleteConversation is Fleet.DeleteConversation.
func (m *MemoryConversations) DeleteConversation(_ context.Context, id, holder string) error {
	return m.asHolder("delete a conversation in", id, holder, func(c *memoryConversation) error {
		m.remove(c)
		return nil
	})
}

// Conversation is Fleet.Conversation.
func (m *MemoryConversations) Conversation(_ context.Context, id string, idle time.Duration) (Conversation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, err := m.find("read a conversation from", id, idle)
	if err != nil {
		return Conversation{}, err
	}
	return c.Conversation, nil
}
