package store

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Conversation is a conversation that servers store for callers. Data is the server's own, up to 16 MB; Size is what
// counts against the room for all of them.
type Conversation struct {
	ID   string
	Data []byte
	Size int
	// UsedAt is when it was created, or when its last lease ended.
	UsedAt time.Time
	// Full is true when the memory of the process has no room for a longer conversation; a database has.
	Full bool
}

// ConversationLimit bounds the conversations of a store: their number, the sum of their sizes, and the time without a
// turn after which one is deleted.
type ConversationLimit struct {
	Most, MaxBytes int
	Idle           time.Duration
}

// maxConversation bounds the data of a conversation in bytes.
const maxConversation = 16 << 20

// CreateConversation stores a new conversation, after it has deleted those that were idle for too long. ErrExists means
// that its ID is taken, ErrTooLarge that there is no room.
func (f *Fleet) CreateConversation(ctx context.Context, c Conversation, room ConversationLimit) error {
	check := rowCheck{what: "conversation", id: c.ID}
	check.key("id", c.ID)
	if check.err != nil {
		return check.err
	}
	const op = "write a conversation to"
	return f.write(ctx, op, func(tx transaction) error {
		now, err := tx.now(ctx)
		if err != nil {
			return err
		}
		if _, err := tx.exec(ctx, `DELETE FROM exp.fleet_conversations WHERE used_at < $1 AND held_until <= $2`,
			micros(now.Add(-room.Idle)), micros(now)); err != nil {
			return err
		}
		var kept, bytes int64
		err = tx.read(ctx, `SELECT count(*), coalesce(sum(size), 0) FROM exp.fleet_conversations`, nil,
			func(row scanner) error { return row.Scan(&kept, &bytes) })
		switch {
		case err != nil:
			return err
		case kept >= int64(room.Most), bytes+int64(c.Size) > int64(room.MaxBytes), len(c.Data) > maxConversation:
			return f.fault(op, "there is no room for another conversation", "delete those that have ended", ErrTooLarge)
		}
		n, err := tx.exec(ctx, `INSERT INTO exp.fleet_conversations (id, data, size, holder, held_until, used_at) VALUES ($1, $2, $3, '', 0, $4) ON CONFLICT DO NOTHING`,
			plainText(c.ID), f.packers.pack(c.Data), int64(c.Size), micros(now))
		if err == nil && n == 0 {
			err = f.fault(op, fmt.Sprintf("there is a conversation %q already", shortened(c.ID)), "choose another id",
				ErrExists)
		}
		return err
	})
}

// LeaseConversation gives a conversation to a holder until FreeConversation, or until ttl has passed without a renewal.
// The holder's name must be unique to one turn, such as a random one. ErrBusy means that the conversation is leased,
// ErrUnknown that there is none.
func (f *Fleet) LeaseConversation(ctx context.Context, id, holder string,
	ttl, idle time.Duration) (c Conversation, err error) {
	const op = "lease a conversation in"
	err = f.write(ctx, op, func(tx transaction) error {
		now, err := tx.now(ctx)
		if err != nil {
			return err
		}
		n, err := tx.exec(ctx, `UPDATE exp.fleet_conversations SET holder = $2, held_until = $3 WHERE id = $1 AND held_until <= $4 AND used_at >= $5`,
			plainText(id), holder, micros(now.Add(ttl)), micros(now), micros(now.Add(-idle)))
		if err != nil {
			return err
		}
		c, err = f.readConversation(ctx, tx.read, op, id, now, idle)
		if err == nil && n == 0 {
			err = f.fault(op, fmt.Sprintf("a turn of the conversation %q is under way", shortened(id)),
				"wait for its end", ErrBusy)
		}
		return err
	})
	return c, err
}

// RenewConversation extends a lease. ErrLeaseLost means that the lease has ended.
func (f *Fleet) RenewConversation(ctx context.Context, id, holder string, ttl time.Duration) error {
	return f.asHolder(ctx, "lease a conversation in", id, func(tx transaction, now time.Time) (int64, error) {
		return tx.exec(ctx,
			`UPDATE exp.fleet_conversations SET held_until = $3 WHERE id = $1 AND holder = $2 AND held_until > 0`,
			plainText(id), holder, micros(now.Add(ttl)))
	})
}

// FreeConversation ends a lease and writes the changed conversation; nil leaves it as it was. ErrLeaseLost means that
// the lease has ended: nothing was written.
func (f *Fleet) FreeConversation(ctx context.Context, id, holder string, changed *Conversation) error {
	return f.asHolder(ctx, "write a conversation to", id, func(tx transaction, now time.Time) (int64, error) {
		if changed == nil {
			return tx.exec(ctx, `UPDATE exp.fleet_conversations SET holder = '', held_until = 0, used_at = $3 WHERE id = $1 AND holder = $2 AND held_until > 0`,
				plainText(id), holder, micros(now))
		}
		if len(changed.Data) > maxConversation {
			return 0, f.fault("write a conversation to", "the conversation is too long to be stored",
				"begin another one", ErrTooLarge)
		}
		return tx.exec(ctx,
			`UPDATE exp.fleet_conversations SET holder = '', held_until = 0, used_at = $3, data = $4, size = $5
			WHERE id = $1 AND holder = $2 AND held_until > 0`, plainText(id), holder, micros(now),
			f.packers.pack(changed.Data), int64(changed.Size))
	})
}

// DeleteConversation deletes a leased conversation.
func (f *Fleet) DeleteConversation(ctx context.Context, id, holder string) error {
	return f.asHolder(ctx, "delete a conversation in", id, func(tx transaction, _ time.Time) (int64, error) {
		return tx.exec(ctx, `DELETE FROM exp.fleet_conversations WHERE id = $1 AND holder = $2`, plainText(id), holder)
	})
}

// asHolder makes a change that only the holder of a lease may make.
func (f *Fleet) asHolder(ctx context.Context, op, id string,
	change func(tx transaction, now time.Time) (int64, error)) error {
	return f.write(ctx, op, func(tx transaction) error {
		now, err := tx.now(ctx)
		if err != nil {
			return err
		}
		n, err := change(tx, now)
		if err == nil && n == 0 {
			err = f.fault(op, fmt.Sprintf("another server has the conversation %q", shortened(id)),
				"take the turn again", ErrLeaseLost)
		}
		return err
	})
}

// Conversation reads a conversation, leased or not, as it was after its last turn.
func (f *Fleet) Conversation(ctx context.Context, id string, idle time.Duration) (c Conversation, err error) {
	const op = "read a conversation from"
	err = f.write(ctx, op, func(tx transaction) error { // for the clock of the database
		now, err := tx.now(ctx)
		if err == nil {
			c, err = f.readConversation(ctx, tx.read, op, id, now, idle)
		}
		return err
	})
	return c, err
}

type fleetRead func(ctx context.Context, query string, args []any, scan func(scanner) error) error

// readConversation reads a conversation that was used within the idle time, or is leased.
func (f *Fleet) readConversation(ctx context.Context, read fleetRead, op, id string, now time.Time,
	idle time.Duration) (Conversation, error) {
	c, found := Conversation{ID: id}, false
	err := read(ctx, `SELECT data, size, used_at FROM exp.fleet_conversations
		WHERE id = $1 AND (used_at >= $2 OR held_until > $3)`,
		[]any{plainText(id), micros(now.Add(-idle)), micros(now)},
		func(row scanner) error {
			var packed []byte
			var size, used int64
			if err := row.Scan(&packed, &size, &used); err != nil {
				return err
			}
			data, err := unpack(packed)
			found, c.Data, c.Size, c.UsedAt = true, data, int(size), time.UnixMicro(used).UTC()
			return err
		})
	if err == nil && !found {
		err = f.fault(op, fmt.Sprintf("there is no conversation %q", shortened(id)), "begin one", ErrUnknown)
	}
	return c, err
}

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

// find returns a conversation that was used within the idle time, or is leased. The caller has the lock.
func (m *MemoryConversations) find(op, id string, idle time.Duration) (*memoryConversation, error) {
	c, ok := m.byID[id]
	if now := m.now(); !ok || c.UsedAt.Before(now.Add(-idle)) && !c.until.After(now) {
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
