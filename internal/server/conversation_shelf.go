package server

import (
	"container/list"
	"fmt"
	"net/http"
	"sync"
	"time"

	"rehearse/internal/flow"
)

// conversation is a conversation that the server keeps. The shelf's lock guards the fields below; the session belongs to the holder.
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
	place *list.Element
}

// shelf keeps a bounded number of conversations and drops those that are idle for too long. It has no goroutine of its own: every call
// drops idle conversations.
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
	return &shelf{now: now, idle: idle, most: most, maxBytes: maxBytes, byID: map[string]*conversation{}, order: list.New()}
}

// Bounds of one conversation's texts, and what is counted for a turn besides them.
const (
	maxConversation = maxContext
	turnOverhead    = 1 << 10
)

// add puts a conversation on the shelf.
func (s *shelf) add(c *conversation, bytes int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep()
	if _, taken := s.byID[c.id]; taken {
		return newProblem(http.StatusConflict, codeExists, fmt.Sprintf("there is a conversation %q already", c.id),
			"choose another conversation_id, leave it out, or delete that one").at("/conversation_id")
	}
	if len(s.byID) >= s.most {
		return newProblem(http.StatusInsufficientStorage, codeFull, fmt.Sprintf("the server keeps %d conversations already", s.most),
			"delete those that have ended")
	}
	if s.bytes+bytes > s.maxBytes {
		return s.full()
	}
	c.begun, c.used, c.state, c.first = s.now(), s.now(), c.session.Context(), turnOverhead+bytes
	c.place = s.order.PushBack(c)
	s.byID[c.id] = c
	s.grow(c, c.first)
	return nil
}

// full is the problem that the texts of all conversations take too much room.
func (s *shelf) full() *Problem {
	return newProblem(http.StatusInsufficientStorage, codeFull, "the server has no room for longer conversations", "delete those that have ended")
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
