package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"
)

// turnstile admits a bounded number of turns, none after stop, and turns their panics into errors.
type turnstile struct {
	log      *slog.Logger
	places   gate
	stopping chan struct{}
}

func newTurnstile(log *slog.Logger, places int) turnstile {
	return turnstile{log: log, places: make(gate, places), stopping: make(chan struct{})}
}

// pass takes a turn if there is room for one.
func (t *turnstile) pass(ctx context.Context, take func() error) (err error) {
	if t.stopped() {
		return newProblem(http.StatusServiceUnavailable, codeStopping, "the server is stopping", "try again when it is back").after(5 * time.Second)
	}
	if !t.places.enter() {
		return newProblem(http.StatusServiceUnavailable, codeOverloaded, "too many turns are under way", "try again in a moment").after(time.Second)
	}
	defer t.places.leave()
	defer func() {
		if fault := recover(); fault != nil {
			t.log.ErrorContext(ctx, "panic in a turn", "panic", fault, "stack", string(debug.Stack()))
			err = errors.New("panic")
		}
	}()
	return take()
}

// stop admits no more turns. Call it once.
func (t *turnstile) stop() { close(t.stopping) }

func (t *turnstile) stopped() bool {
	select {
	case <-t.stopping:
		return true
	default:
		return false
	}
}
