package api

import (
	"container/list"
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
)

// conversation is a conversation that the server keeps. The shelf's lock guards the fields below; the session belongs
// to the holder.
type conversation struct {
	id      string
	flow    *flow.Flow
	seed    flow.Seed
	session *flow.Session
	begun   time.Time

	held bool
	used time.Time
	// bytes is the size of the conversation, first its size at the beginning.
	bytes, first int
	// state is the session's state after its last turn, for readers that do not hold the conversation.
	state flow.Context
	done  bool
	// ref is the flow as the caller named it. lease is what a store's keeper has of a held conversation.
	ref   string
	lease *conversationLease
	place *list.Element
}

// keeper keeps conversations, of each of which one turn is taken at a time. It is safe for concurrent use. Its errors
// are of kind *Problem.
type keeper interface {
	add(ctx context.Context, c *conversation, bytes int) error
	// hold gives a conversation to one caller, who must release it. The turn is to be taken in the context that it
	// returns, which ends when the conversation is lost.
	hold(ctx context.Context, id string) (*conversation, context.Context, error)
	// room returns an error when a held conversation has no room for another turn.
	room(c *conversation) error
	// release gives a conversation back with its new state, unchanged as it was. It has grown by bytes.
	release(ctx context.Context, c *conversation, bytes int) error
	unchanged(ctx context.Context, c *conversation)
	// look returns the present state of a conversation, without a turn that is under way.
	look(ctx context.Context, id string) (conversation, error)
	remove(ctx context.Context, id string) error
}

// shelf keeps a bounded number of conversations and drops those that are idle for too long. It has no goroutine of its
// own: every call drops idle conversations. It is the keeper of a server without a store.
type shelf struct {
	now            func() time.Time
	idle           time.Duration
	most, maxBytes int

	mu    sync.Mutex
	byID  map[string]*conversation
	order *list.List // of *conversation, the longest unused first
	bytes int
}

func newShelf(now func() time.Time, idle time.Duration, most, maxBytes int) *shelf {
	return &shelf{
		now: now, idle: idle, most: most, maxBytes: maxBytes, byID: map[string]*conversation{}, order: list.New(),
	}
}

// Bounds of one conversation's texts, and what is counted for a turn besides them.
const (
	maxConversation = maxContext
	turnOverhead    = 1 << 10
)

// add puts a conversation on the shelf.
func (s *shelf) add(_ context.Context, c *conversation, bytes int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep()
	if _, taken := s.byID[c.id]; taken {
		return takenID(c.id)
	}
	if len(s.byID) >= s.most {
		return newProblem(http.StatusInsufficientStorage, codeFull,
			fmt.Sprintf("the server keeps %d conversations already", s.most), "delete those that have ended")
	}
	if s.bytes+bytes > s.maxBytes {
		return noRoom()
	}
	c.begun, c.used, c.state, c.first = s.now(), s.now(), c.session.Context(), turnOverhead+bytes
	c.place = s.order.PushBack(c)
	s.byID[c.id] = c
	s.grow(c, c.first)
	return nil
}

// takenID is the problem that there is a conversation of that id.
func takenID(id string) *Problem {
	return newProblem(http.StatusConflict, codeExists, fmt.Sprintf("there is a conversation %q already", id),
		"choose another conversation_id, leave it out, or delete that one").at("/conversation_id")
}

// noRoom is the problem that the texts of all conversations take too much room.
func noRoom() *Problem {
	return newProblem(http.StatusInsufficientStorage, codeFull, "the server has no room for longer conversations",
		"delete those that have ended")
}

// grow adds the growth of a conversation to the total; it may be negative.
func (s *shelf) grow(c *conversation, bytes int) {
	c.bytes += bytes
	s.bytes += bytes
}

// sweep drops conversations that have been idle for too long.
func (s *shelf) sweep() {
	oldest := s.now().Add(-s.idle)
	for at := s.order.Front(); at != nil; {
		c, _ := at.Value.(*conversation)
		if c.used.After(oldest) {
			return
		}
		at = at.Next()
		if !c.held {
			s.drop(c)
		}
	}
}

func (s *shelf) drop(c *conversation) {
	s.order.Remove(c.place)
	delete(s.byID, c.id)
	s.bytes -= c.bytes
}
