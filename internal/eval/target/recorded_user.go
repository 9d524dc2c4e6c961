package target

import (
	"context"

	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// User returns a simulated user that says what it said in the record, and nothing else.
func (r *Recorded) User() runner.User { return recordedUser{r} }

type recordedUser struct{ *Recorded }

// Next returns the recorded message of the turn. Where the talk was over, what the user would have said is not known: a
// *runner.FailureError, unless it was the user who ended it.
func (u recordedUser) Next(_ context.Context, t runner.UserScript) (runner.Line, error) {
	byUser := u.Of.User != nil && u.Of.User.End == result.EndUser
	i, n := t.Turn-1, len(u.Of.Turns)
	switch {
	case i < n:
		return runner.Line{Message: u.Of.Turns[i].Input, End: byUser && t.Turn == n}, nil
	case byUser:
		return runner.Line{End: true}, nil
	case i < len(u.Of.Scores) && len(u.Of.Scores[i].Failures) > 0 && result.IsTurn(u.Of.Scores[i].Name):
		return runner.Line{}, &runner.FailureError{Failure: u.Of.Scores[i].Failures[0]} // the user failed then
	}
	return runner.Line{},
		u.invalid(t.Turn, "run %s did not hold it: the talk was over after turn %d; hold the test again", u.Run, n)
}
