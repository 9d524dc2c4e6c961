package api

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// busy is the problem that somebody else takes a turn.
func busy() *Problem {
	return newProblem(http.StatusTooManyRequests, codeBusy, "a turn of this conversation is under way",
		"wait for its answer").after(time.Second)
}

// unknownConversation is the problem that there is none of that id.
func unknownConversation(id string, idle time.Duration) *Problem {
	return newProblem(http.StatusNotFound, codeNotFound, fmt.Sprintf("there is no conversation %q", clean(id)),
		"begin one with POST /api/v1/conversations; the server drops those that are silent for "+idle.String())
}

// find returns a conversation. The caller holds the lock.
func (s *shelf) find(id string) (*conversation, error) {
	s.sweep()
	if c, ok := s.byID[id]; ok {
		return c, nil
	}
	return nil, unknownConversation(id, s.idle)
}

// hold gives a conversation to one caller until release.
func (s *shelf) hold(ctx context.Context, id string) (*conversation, context.Context, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.find(id)
	if err != nil {
		return nil, nil, err
	}
	if c.held {
		return nil, nil, busy()
	}
	c.held = true
	return c, ctx, nil
}

// room returns an error when a held conversation has no room for another turn.
func (s *shelf) room(c *conversation) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case c.bytes > maxConversation:
		return tooLong()
	case s.bytes > s.maxBytes:
		return noRoom()
	}
	return nil
}

func tooLong() *Problem {
	return newProblem(http.StatusInsufficientStorage, codeFull, "the conversation holds more than 4 MB",
		"reset it, or begin another one")
}

// release gives a conversation back with its new state. It has grown by bytes.
func (s *shelf) release(_ context.Context, c *conversation, bytes int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grow(c, bytes)
	c.held, c.used, c.state, c.done = false, s.now(), c.session.Context(), c.session.Completed()
	s.order.MoveToBack(c.place)
	return nil
}

// unchanged gives a conversation back as it was.
func (s *shelf) unchanged(ctx context.Context, c *conversation) { _ = s.release(ctx, c, 0) }

// look returns the present state of a conversation, without a turn that is under way.
func (s *shelf) look(_ context.Context, id string) (conversation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.find(id)
	if err != nil {
		return conversation{}, err
	}
	return *c, nil
}

// remove takes a conversation off the shelf.
func (s *shelf) remove(ctx context.Context, id string) error {
	c, _, err := s.hold(ctx, id)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(c)
	return nil
}
