package storetest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/run/store"
)

// Conversations are a store of conversations: a *store.Fleet or a *store.MemoryConversations.
type Conversations interface {
	CreateConversation(ctx context.Context, c store.Conversation, room store.ConversationLimit) error
	LeaseConversation(ctx context.Context, id, holder string, ttl, idle time.Duration) (store.Conversation, error)
	RenewConversation(ctx context.Context, id, holder string, ttl time.Duration) error
	FreeConversation(ctx context.Context, id, holder string, changed *store.Conversation) error
	DeleteConversation(ctx context.Context, id, holder string) error
	Conversation(ctx context.Context, id string, idle time.Duration) (store.Conversation, error)
}

// RunConversations runs the conformance tests on empty stores that open returns.
func RunConversations(t *testing.T, open func(t *testing.T) Conversations) {
	t.Run("lease", func(t *testing.T) { conversationLeased(t, open(t)) })
	t.Run("bounds", func(t *testing.T) { conversationBounds(t, open(t)) })
}

// roomy is more room than any test needs.
var roomy = store.ConversationLimit{Most: 100, MaxBytes: 1 << 20, Idle: time.Hour}

func conversationLeased(t *testing.T, f Conversations) {
	ctx := t.Context()
	first := store.Conversation{ID: "c", Data: []byte(strings.Repeat("hello ", 100)), Size: 7}
	if err := f.CreateConversation(ctx, first, roomy); err != nil {
		t.Fatal(err)
	}
	wantError(t, f.CreateConversation(ctx, first, roomy), store.ErrExists)
	_, err := f.LeaseConversation(ctx, "nobody", "h", time.Minute, time.Hour)
	wantError(t, err, store.ErrUnknown)

	// Of many who want it at once, one gets it, and keeps it until all others have asked.
	const many = 8
	var got atomic.Int32
	var all sync.WaitGroup
	refused := make(chan struct{}, many)
	for i := range many {
		all.Go(func() {
			c, err := f.LeaseConversation(ctx, "c", fmt.Sprintf("h%d", i), time.Minute, time.Hour)
			if err != nil {
				wantError(t, err, store.ErrBusy)
				refused <- struct{}{}
				return
			}
			if got.Add(1); string(c.Data) != string(first.Data) || c.Size != 7 {
				t.Errorf("held %+v", c)
			}
			if err := f.FreeConversation(ctx, "c", fmt.Sprintf("other%d", i),
				&store.Conversation{Data: []byte("forged")}); err == nil {
				t.Error("somebody else wrote it")
			}
			for range many - 1 {
				select {
				case <-refused:
				case <-time.After(time.Minute):
					t.Error("another one got it, too")
					return
				}
			}
			if err := f.FreeConversation(ctx, "c", fmt.Sprintf("h%d", i), &store.Conversation{
				Data: []byte("second"), Size: 9,
			}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if c, err := f.Conversation(ctx, "c", time.Hour); err != nil || got.Load() != 1 || string(c.Data) != "second" ||
		c.Size != 9 || c.UsedAt.IsZero() {
		t.Errorf("%d held it; %+v, %v", got.Load(), c, err)
	}

	// What a dead server holds is free again after its time, and the dead one writes nothing any more. A renewal keeps
	// it.
	hold := func(holder string, ttl time.Duration) {
		t.Helper()
		if _, err := f.LeaseConversation(ctx, "c", holder, ttl, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	hold("dead", time.Millisecond)
	time.Sleep(20 * time.Millisecond)
	hold("alive", time.Minute)
	wantError(t, f.FreeConversation(ctx, "c", "dead", &store.Conversation{Data: []byte("late")}), store.ErrLeaseLost)
	wantError(t, f.RenewConversation(ctx, "c", "dead", time.Minute), store.ErrLeaseLost)
	if err := f.RenewConversation(ctx, "c", "alive", time.Minute); err != nil {
		t.Error(err)
	}
	if err := f.FreeConversation(ctx, "c", "alive", nil); err != nil {
		t.Error(err)
	}
	wantError(t, f.RenewConversation(ctx, "c", "alive", time.Minute), store.ErrLeaseLost)
	if c, err := f.Conversation(ctx, "c", time.Hour); err != nil || string(c.Data) != "second" {
		t.Errorf("%+v, %v", c, err)
	}
	hold("last", time.Minute)
	if err := f.DeleteConversation(ctx, "c", "last"); err != nil {
		t.Fatal(err)
	}
	_, err = f.Conversation(ctx, "c", time.Hour)
	wantError(t, err, store.ErrUnknown)
}

func conversationBounds(t *testing.T, f Conversations) {
	ctx := t.Context()
	room := store.ConversationLimit{Most: 2, MaxBytes: 10, Idle: time.Hour}
	create := func(id string, size int, room store.ConversationLimit) error {
		return f.CreateConversation(ctx, store.Conversation{ID: id, Data: []byte("{}"), Size: size}, room)
	}
	wantError(t, create("large", 11, room), store.ErrTooLarge)
	for _, id := range []string{"a", "b"} {
		if err := create(id, 5, room); err != nil {
			t.Fatal(err)
		}
	}
	wantError(t, create("c", 0, room), store.ErrTooLarge)
	if create("", 0, roomy) == nil {
		t.Error("a conversation without an id is kept")
	}
	time.Sleep(20 * time.Millisecond)
	room.Idle = 10 * time.Millisecond
	_, err := f.Conversation(ctx, "a", room.Idle)
	wantError(t, err, store.ErrUnknown)
	_, err = f.LeaseConversation(ctx, "a", "h", time.Minute, room.Idle)
	wantError(t, err, store.ErrUnknown)
	if err := create("c", 5, room); err != nil { // those that were idle went
		t.Error(err)
	}

	// A turn that outlasts the idle time does not end its conversation.
	if _, err := f.LeaseConversation(ctx, "c", "h", time.Minute, time.Hour); err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * time.Millisecond)
	if _, err := f.Conversation(ctx, "c", room.Idle); err != nil {
		t.Error(err)
	}
	_, err = f.LeaseConversation(ctx, "c", "other", time.Minute, room.Idle)
	wantError(t, err, store.ErrBusy)
	if err := f.FreeConversation(ctx, "c", "h", &store.Conversation{Data: []byte("{}"), Size: 5}); err != nil {
		t.Error(err)
	}
}
