package target

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/retry"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// Turns bounds the turns of a target that makes several calls for one reply. The zero value bounds nothing.
type Turns struct {
	// Timeout bounds one attempt of a turn, whatever calls it makes; 0 bounds nothing.
	Timeout time.Duration
	// Retries is how often a turn that took too long is taken again. Calls that failed within a turn are the models' to
	// repeat.
	Retries int
}

// turnsOf returns the bounds that a test asks for, else those that the configuration has; nil and 0 are no answer.
func turnsOf(p Parts, retries *int, timeout time.Duration) Turns {
	t := Turns{Timeout: cmp.Or(p.Timeout, timeout), Retries: suite.DefaultRetries}
	if n := cmp.Or(p.Retries, retries); n != nil {
		t.Retries = max(0, *n)
	}
	return t
}

var errTurnTooLong = errors.New("the reply took too long")

// take takes a turn, and takes it again when it took too long. The turn must leave the session unchanged when it fails;
// its reply has the usage also then. The result has the usage and the attempts of all requests; kind is that of the
// target, name is who is asked, for the error.
func (t Turns) take(ctx context.Context, kind, name string,
	turn func(context.Context) (chat.Reply, error)) (reply chat.Reply, err error) {
	ctx, span := sending(ctx, kind, "")
	defer func() { sent(span, err) }()
	var used chat.Reply
	policy := retry.Policy{
		Retries: t.Retries, Transient: func(err error) bool { return errors.Is(err, errTurnTooLong) },
	}
	reply, turns, err := retry.Do(ctx, policy, func(ctx context.Context) (chat.Reply, error) {
		bounded, cancel := ctx, context.CancelFunc(func() {})
		if t.Timeout > 0 {
			bounded, cancel = context.WithTimeoutCause(ctx, t.Timeout, errTurnTooLong)
		}
		defer cancel()
		reply, err := turn(bounded)
		if err != nil && errors.Is(context.Cause(bounded), errTurnTooLong) {
			err = errTurnTooLong
			reply.Usage.Unknown, reply.Cost.Unknown = true, true // what was cut off may have been paid
		}
		used.Usage, used.Cost = used.Usage.Add(reply.Usage), used.Cost.Add(reply.Cost)
		used.Attempts += reply.Attempts
		return reply, err
	})
	reply.Usage, reply.Cost, reply.Attempts = used.Usage, used.Cost, used.Attempts
	if errors.Is(err, errTurnTooLong) {
		err = &llm.Error{
			Fault: llm.TimedOut, Model: name, Message: "no answer within " + t.Timeout.String(), Attempts: turns,
			Hint: "raise timeout if it needs longer",
		}
	}
	return reply, err
}
