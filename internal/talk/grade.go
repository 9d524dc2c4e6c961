package talk

import (
	"context"
	"fmt"

	"rehearse/internal/chat"
	"rehearse/internal/result"
	"rehearse/internal/runner"
	"rehearse/internal/suite"
)

// Expected is what a suite expects of a talk: its n-th message is graded as turn Offset+n of the test. The zero value expects nothing.
type Expected struct {
	Test    *suite.Test
	Grading runner.Grading
	// Offset is how many turns of the test were held before the talk.
	Offset int
}

// of returns what the test expects of a turn of the talk, counted from 1; ok is false where it says nothing of it.
func (e Expected) of(n int) (turn suite.Turn, ok bool) {
	if e.Test == nil || e.Grading == nil {
		return turn, false
	}
	if at := e.Offset + n - 1; at < len(e.Test.Turns) {
		turn = e.Test.Turns[at]
	} else {
		turn.Assertions = e.Test.EveryTurn
	}
	alone := !e.Test.Conversation && e.Test.Criteria != "" && e.Offset+n == 1 // then the criteria are what is asserted
	return turn, len(turn.Assertions) > 0 || alone
}

// grade grades turn n of a talk; said is everything before its message. The item is called turn-n, and is nil where nothing is expected of the turn.
// The reply is the one that was given: only judges are asked.
func (e Expected) grade(ctx context.Context, n int, said []chat.Message, turn Turn) (*result.Score, result.JudgeUse, error) {
	wanted, ok := e.of(n)
	if !ok {
		return nil, result.JudgeUse{}, nil
	}
	own := *e.Test
	wanted.Input = chat.Content{Text: turn.Message}
	own.Conversation, own.Input, own.Turns, own.User = false, said, []suite.Turn{wanted}, nil
	own.Assertions, own.EveryTurn, own.Start, own.DependsOn = nil, nil, suite.Start{}, nil
	held, err := runner.Hold(ctx, runner.Conversation{Test: &own, Target: given{turn.Reply}, Grading: e.Grading, InOrder: true, Regraded: true})
	if err != nil {
		return nil, result.JudgeUse{}, fmt.Errorf("turn %d was not graded: %w", n, err)
	}
	if len(held.Scores) != 1 {
		return nil, held.Judge, fmt.Errorf("turn %d was not graded: %s", n, firstOf(held.Failures))
	}
	item := held.Scores[0]
	item.Name = fmt.Sprintf("turn-%d", n)
	for i := range item.Failures {
		item.Failures[i].Turn = n
	}
	return &item, held.Judge, nil
}

func firstOf(failures []result.Failure) string {
	if len(failures) == 0 {
		return "it has no grades"
	}
	return failures[0].Message
}

// given is a target that gives one reply.
type given struct{ reply chat.Reply }

// Open implements runner.Target.
func (g given) Open(context.Context, runner.Opening) (runner.Session, error) { return g, nil }

// Send implements runner.Session.
func (g given) Send(context.Context, chat.Content) (chat.Reply, error) { return g.reply, nil }

// Close implements runner.Session.
func (g given) Close() error { return nil }
