package sitebot

import (
	"context"
	"sync"
)

// hurries are the turns whose answers stand and whose suggestions are still being made. A visitor who writes again does
// not want them any more.
type hurries struct {
	mu       sync.Mutex
	byThread map[string]context.CancelFunc
}

// hurry gives up the suggestions that are being made in a session, so that its turn ends. It does nothing in all other
// cases.
func (h *hurries) hurry(thread string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if giveUp := h.byThread[thread]; giveUp != nil {
		giveUp()
	}
}

// unhurried returns a context that ends when the session's visitor writes again. done is called once, when the
// suggestions are made.
func (h *hurries) unhurried(ctx context.Context, thread string) (within context.Context, done func()) {
	within, giveUp := context.WithCancel(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.byThread == nil {
		h.byThread = map[string]context.CancelFunc{}
	}
	h.byThread[thread] = giveUp
	return within, func() {
		giveUp()
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.byThread, thread)
	}
}
