package sitebot

import (
	"context"
	"encoding/json"
	"time"

	"rehearse/graph"
	"rehearse/internal/sitebot/limit"
)

// Bounds of what sessions hold (sitebot.md 2.17).
const (
	// maxState is how many bytes of state a session holds, as JSON.
	maxState = 2 << 20
	// turnRoom is what a turn may add beside the visitor's message: the answer, documents, suggestions.
	turnRoom = 64 << 10
	// newRoom is what a new session takes beside the visitor's message, at least.
	newRoom = 4 << 10
	// inUse is how long a session is not evicted after it was used last.
	inUse = 30 * time.Minute
	// fullWait is when to try again where no session can be evicted.
	fullWait = time.Minute
)

// fits refuses a message for which there is no room: its session would become too long, or it is the first one of a session that cannot be had.
func (b *Bot) fits(ctx context.Context, t *turn, at *graph.Checkpoint[State]) error {
	more := len(t.request.Input) + turnRoom
	if at.Bytes+more > maxState { // what is stored may be more than what the session still holds
		size, err := sizeOf(&at.State)
		if err != nil {
			return err
		}
		if size+more > maxState {
			return t.refused(string(SessionFull), nil)
		}
	}
	room, bounded := b.Checkpoints.(Room)
	if first := at.ID == ""; !first || !bounded || b.SessionBytes <= 0 {
		return nil
	}
	ok, err := room.MakeRoom(ctx, b.SessionBytes, int64(len(t.request.Input)+newRoom), b.Now().Add(-inUse))
	switch {
	case err != nil:
		return &Error{Fault: StoreFailed, Message: "there is no telling whether there is room for the session", Err: err}
	case !ok:
		return t.refused(string(SessionsFull), &limit.Refusal{After: fullWait})
	}
	return nil
}

// roomFor refuses to put so many bytes into a session that it would hold more than it may.
func roomFor(s *State, more int) error {
	size, err := sizeOf(s)
	if err == nil && size+more > maxState {
		return fault(SessionFull, "send less, or begin anew with ?replace=1", "the session would hold more than %d MiB", maxState>>20)
	}
	return err
}

func sizeOf(s *State) (int, error) {
	data, err := json.Marshal(s)
	if err != nil {
		return 0, &Error{Fault: StoreFailed, Message: "the session cannot be read", Err: err}
	}
	return len(data), nil
}
