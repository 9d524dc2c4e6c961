package server

import (
	"fmt"
	"net/http"
	"time"

	"rehearse/internal/flow"
)

// find returns a conversation. The caller holds the lock.
func (s *shelf) find(id string) (*conversation, error) {
	s.sweep()
	if c, ok := s.byID[id]; ok {
		return c, nil
	}
	return nil, newProblem(http.StatusNotFound, codeNotFound, fmt.Sprintf("there is no conversation %q", clean(id)),
		"begin one with POST /api/v1/conversations; the server drops those that are silent for "+s.idle.String())
}

// hold gives a conversation to one caller until release.
func (s *shelf) hold(id string) (*conversation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.find(id)
	if err != nil {
		return nil, err
	}
	if c.held {
		return nil, newProblem(http.StatusTooManyRequests, codeBusy, "a turn of this conversation is under way", "wait for its answer").
			after(time.Second)
	}
	c.held = true
	return c, nil
}

// room returns an error when a held conversation has no room for another turn.
func (s *shelf) room(c *conversation) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case c.bytes > maxConversation:
		return newProblem(http.StatusInsufficientStorage, codeFull, "the conversation holds more than 4 MB", "reset it, or begin another one")
	case s.bytes > s.maxBytes:
		return s.full()
	}
	return nil
}

// release gives a conversation back with its new state. It has grown by bytes.
func (s *shelf) release(c *conversation, bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grow(c, bytes)
	c.held, c.used, c.state, c.done = false, s.now(), c.session.Context(), c.session.Completed()
	s.order.MoveToBack(c.place)
}

// renew gives a conversation back with a new session.
func (s *shelf) renew(c *conversation, fresh *flow.Session) {
	c.session = fresh
	s.release(c, c.first-c.bytes)
}

// look returns the present state of a conversation, without a turn that is under way.
func (s *shelf) look(id string) (conversation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.find(id)
	if err != nil {
		return conversation{}, err
	}
	return *c, nil
}

// remove takes a conversation off the shelf.
func (s *shelf) remove(id string) error {
	c, err := s.hold(id)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(c)
	return nil
}
