package llm

import (
	"context"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

// RecordTurn writes how long an agent took for a turn. An agent made of several calls says nothing of that itself, and
// a playback, in which all calls are answered at once, could not tell. The error is an *Error of fault Unrecorded.
func (r *Recorder) RecordTurn(ctx context.Context, message string, took time.Duration) error {
	e := entry{
		Kind: kindTurn, Model: kindTurn, Texts: []string{r.mask.text(message)}, Reply: &chat.Reply{Latency: took},
	}
	if problem := r.write(ctx, e, e.Texts, time.Time{}, nil); problem != nil {
		return unwritten(ctx, kindTurn, problem)
	}
	return nil
}

// Turn returns how long the recorded agent took for the next turn with this message; 0 if that was not recorded.
func (c *Recording) Turn(ctx context.Context, message string) time.Duration {
	unnoted, _ := NoteLack(ctx)
	e, err := c.next(unnoted, recordedRequest{kindTurn, kindTurn, []string{c.mask.text(message)}, "a turn"})
	if err != nil {
		return 0
	}
	return e.Reply.Latency
}
