package store_test

import (
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/run/store/storetest"
)

func TestMemoryConversations(t *testing.T) {
	storetest.RunConversations(t, func(*testing.T) storetest.Conversations {
		return store.NewMemoryConversations(time.Now)
	})
}

// TestMemoryConversationsFull proves that a lease reports the end of the room, and that a shorter conversation frees
// it.
func TestMemoryConversationsFull(t *testing.T) {
	ctx, m := t.Context(), store.NewMemoryConversations(time.Now)
	room := store.ConversationLimit{Most: 2, MaxBytes: 10, Idle: time.Hour}
	for _, id := range []string{"a", "b"} {
		if err := m.CreateConversation(ctx, store.Conversation{ID: id, Size: 5}, room); err != nil {
			t.Fatal(err)
		}
	}
	turn := func(id string, size int, full bool) {
		t.Helper()
		c, err := m.LeaseConversation(ctx, id, "h", time.Minute, time.Hour)
		if err != nil || c.Full != full {
			t.Errorf("%s: full %t, want %t; %v", id, c.Full, full, err)
		}
		if err := m.FreeConversation(ctx, id, "h", &store.Conversation{Size: size}); err != nil {
			t.Error(err)
		}
	}
	turn("a", 11, false)
	turn("b", 5, true)
	turn("a", 1, true)
	turn("b", 5, false)
}
