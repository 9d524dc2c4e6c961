package sitebot

import (
	"encoding/json"

	"github.com/rehearse-dev/rehearse/graph"
)

// Bounds of what a session holds.
const (
	// maxState is how many bytes of state a session holds, as JSON.
	maxState = 2 << 20
	// turnRoom is what a turn may add beside the visitor's message: the answer, documents, suggestions.
	turnRoom = 64 << 10
)

// fits refuses a message with which its session would hold more than it may.
func (b *Bot) fits(t *turn, at *graph.Checkpoint[State]) error {
	more := len(t.request.Input) + turnRoom
	if at.Bytes+more <= maxState {
		return nil
	}
	size, err := sizeOf(&at.State) // what is stored may be more than what the session still holds
	if err == nil && size+more > maxState {
		return t.refused(string(SessionFull), nil)
	}
	return err
}

// checkStateSize refuses to put so many bytes into a session that it would hold more than it may.
func checkStateSize(s *State, more int) error {
	size, err := sizeOf(s)
	if err == nil && size+more > maxState {
		return fault(SessionFull, "send less, or begin anew with ?replace=1", "the session would hold more than %d MiB",
			maxState>>20)
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
