package store

import (
	"context"
	"fmt"
	"time"
)

// Conversation is a conversation that servers keep for callers. Data is the server's own, up to 16 MB; Size is what
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

// ConversationLimit bounds the conversations of a store: their number, the sum of their sizes, and how long one is kept
// that nobody uses.
type ConversationLimit struct {
	Most, MaxBytes int
	Idle           time.Duration
}

// maxConversation bounds the data of a conversation in bytes.
const maxConversation = 16 << 20

// CreateConversation keeps a new conversation. ErrExists means that its ID is taken, ErrTooLarge that there is no room.
// Those that were idle for too long go first.
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

// LeaseConversation gives a conversation to a holder for a time: nobody else holds it until it is freed, or until the
// time is over without a renewal. A holder's name must be that of one turn, such as a random one. ErrBusy means that
// somebody holds it, ErrUnknown that there is none.
func (f *Fleet) LeaseConversation(ctx context.Context, id, holder string,
	ttl, idle time.Duration) (c Conversation, err error) {
	const op = "hold a conversation in"
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
		c, err = f.readConversation(ctx, tx.read, op, id, now.Add(-idle))
		if err == nil && n == 0 {
			err = f.fault(op, fmt.Sprintf("the conversation %q is held", shortened(id)),
				"wait for its turn to end", ErrBusy)
		}
		return err
	})
	return c, err
}

// RenewConversation holds a conversation for another while. ErrLeaseLost means that its holder does not hold it any
// more.
func (f *Fleet) RenewConversation(ctx context.Context, id, holder string, ttl time.Duration) error {
	return f.asHolder(ctx, "hold a conversation in", id, func(tx transaction, now time.Time) (int64, error) {
		return tx.exec(ctx,
			`UPDATE exp.fleet_conversations SET held_until = $3 WHERE id = $1 AND holder = $2 AND held_until > 0`,
			plainText(id), holder, micros(now.Add(ttl)))
	})
}

// FreeConversation lets a conversation go, and writes what has changed; nil leaves it as it was. ErrLeaseLost means
// that its holder does not hold it any more: nothing was written.
func (f *Fleet) FreeConversation(ctx context.Context, id, holder string, changed *Conversation) error {
	return f.asHolder(ctx, "write a conversation to", id, func(tx transaction, now time.Time) (int64, error) {
		if changed == nil {
			return tx.exec(ctx, `UPDATE exp.fleet_conversations SET holder = '', held_until = 0, used_at = $3 WHERE id = $1 AND holder = $2 AND held_until > 0`,
				plainText(id), holder, micros(now))
		}
		if len(changed.Data) > maxConversation {
			return 0, f.fault("write a conversation to", "the conversation is too long to be kept", "begin another one",
				ErrTooLarge)
		}
		return tx.exec(ctx,
			`UPDATE exp.fleet_conversations SET holder = '', held_until = 0, used_at = $3, data = $4, size = $5
			WHERE id = $1 AND holder = $2 AND held_until > 0`, plainText(id), holder, micros(now),
			f.packers.pack(changed.Data), int64(changed.Size))
	})
}

// DeleteConversation deletes a conversation that its holder holds.
func (f *Fleet) DeleteConversation(ctx context.Context, id, holder string) error {
	return f.asHolder(ctx, "delete a conversation in", id, func(tx transaction, _ time.Time) (int64, error) {
		return tx.exec(ctx, `DELETE FROM exp.fleet_conversations WHERE id = $1 AND holder = $2`, plainText(id), holder)
	})
}

// asHolder makes a change that only the holder of a conversation may make.
func (f *Fleet) asHolder(ctx context.Context, op, id string,
	change func(tx transaction, now time.Time) (int64, error)) error {
	return f.write(ctx, op, func(tx transaction) error {
		now, err := tx.now(ctx)
		if err != nil {
			return err
		}
		n, err := change(tx, now)
		if err == nil && n == 0 {
			err = f.fault(op, fmt.Sprintf("the conversation %q is held by somebody else", shortened(id)),
				"take the turn again", ErrLeaseLost)
		}
		return err
	})
}

// Conversation reads a conversation, held or not, as it was after its last turn.
func (f *Fleet) Conversation(ctx context.Context, id string, idle time.Duration) (c Conversation, err error) {
	const op = "read a conversation from"
	err = f.write(ctx, op, func(tx transaction) error { // for the clock of the database
		now, err := tx.now(ctx)
		if err == nil {
			c, err = f.readConversation(ctx, tx.read, op, id, now.Add(-idle))
		}
		return err
	})
	return c, err
}

type fleetRead func(ctx context.Context, query string, args []any, scan func(scanner) error) error

// readConversation reads a conversation that was used since a time, or is held.
func (f *Fleet) readConversation(ctx context.Context, read fleetRead, op, id string,
	since time.Time) (Conversation, error) {
	c, found := Conversation{ID: id}, false
	err := read(ctx, `SELECT data, size, used_at FROM exp.fleet_conversations WHERE id = $1 AND used_at >= $2`,
		[]any{plainText(id), micros(since)},
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
