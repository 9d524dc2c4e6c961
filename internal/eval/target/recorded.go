package target

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/redact"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// Recorded is a target that plays one recorded conversation again and asks nobody. A turn that was not answered then is
// not answered now, with the failure of the record. A test that says other messages than the record is not opened: the
// replies would answer something else.
type Recorded struct {
	// Of is the record. Run is the id of its run, for messages.
	Of  *result.Test
	Run string
	// Mask takes the secrets out of JSON, as they were taken out of the record. Messages are compared without them. It
	// is nil for a record that was not written yet and has no masks.
	Mask func([]byte) []byte
}

// Open returns a session that plays the record. Its errors are a *runner.FailureError.
func (r *Recorded) Open(_ context.Context, o runner.Opening) (runner.Session, error) {
	if len(r.Of.Turns) == 0 { // the conversation was not begun
		return nil, &runner.FailureError{Failure: r.failure(0)}
	}
	s := &recordedSession{Recorded: r, answered: len(r.Of.Turns)}
	if last := len(r.Of.Output) - 1; last >= 0 && r.Of.Output[last].Role == chat.User {
		s.answered--
	}
	if err := s.same(o.Test); err != nil {
		return nil, err
	}
	if err := s.whole(); err != nil {
		return nil, err
	}
	return s, nil
}

// failure returns what the record says of a turn that was not answered; 0 stands for a conversation that was not begun.
func (r *Recorded) failure(turn int) result.Failure {
	if i := max(0, turn-1); i < len(r.Of.Scores) && len(r.Of.Scores[i].Failures) > 0 {
		return r.Of.Scores[i].Failures[0]
	}
	if len(r.Of.Failures) > 0 {
		return r.Of.Failures[0]
	}
	return result.Failure{
		Code: result.EngineError, Source: result.EngineError.Source(), Turn: turn,
		Message: fmt.Sprintf("run %s recorded no reply and no reason", r.Run),
	}
}

// recordedSession plays one record.
type recordedSession struct {
	*Recorded
	earlier
	// answered is how many turns have a reply, said how many were played.
	answered, said int
}

// same refuses a test whose messages are not those of the record, and takes the messages before the first turn.
func (s *recordedSession) same(t *suite.Test) error {
	for i, turn := range s.Of.Turns {
		if i >= len(t.Turns) {
			break
		}
		if !s.equal(turn.Input, t.Turns[i].Input) {
			return s.invalid(i+1, "the user's message is no longer the one that run %s recorded", s.Run)
		}
	}
	switch then, now := max(s.planned(), len(s.Of.Turns)), len(t.Turns); {
	case t.User != nil && len(s.Of.Turns) > t.MostTurns():
		return s.invalid(t.MostTurns()+1, "the talk took %d turns in run %s and may take %d now", len(s.Of.Turns),
			s.Run, t.MostTurns())
	case t.User == nil && then != now:
		return s.invalid(min(then, now)+1, "the test had %d turns in run %s and has %d now", then, s.Run, now)
	}
	before, err := before(t)
	if err != nil {
		return s.invalid(1, "%v", err)
	}
	ahead := len(s.Of.Output) - len(s.Of.Turns) - s.answered
	if ahead < 0 {
		return s.invalid(1, "the transcript that run %s recorded lacks messages", s.Run)
	}
	said := slices.DeleteFunc(slices.Clone([]chat.Message(before)), func(m chat.Message) bool {
		return m.Role == chat.System
	})
	if !s.equal(nonNil(s.Of.Output[:ahead]), nonNil(said)) {
		return s.invalid(1, "the messages before it are no longer those that run %s recorded", s.Run)
	}
	s.earlier = before
	return nil
}

// planned returns how many turns the test had when it was recorded.
func (s *recordedSession) planned() (turns int) {
	for _, item := range s.Of.Scores {
		if result.IsTurn(item.Name) {
			turns++
		}
	}
	return turns
}

// whole refuses a record with a reply that lacks a secret: whether a check passes may depend on it.
func (s *recordedSession) whole() error {
	if s.Mask == nil {
		return nil
	}
	for i, turn := range s.Of.Turns {
		said, err := json.Marshal([]any{turn.Output, turn.ToolCalls, turn.State})
		if err != nil {
			return s.invalid(i+1, "the reply that run %s recorded cannot be read: %v", s.Run, err)
		}
		if found := redact.FirstMask(string(said)); found != "" {
			mend := "set it in the environment"
			if strings.HasPrefix(found, "[redacted curl ") {
				mend = "put the curl line back where run.json names it"
			}
			return s.invalid(i+1,
				"run %s recorded the reply without a secret, %s, that is not known here: %s, or hold the test again",
				s.Run, found, mend)
		}
	}
	return nil
}

// equal compares two values as they stand in a record.
func (s *recordedSession) equal(a, b any) bool {
	one, err := json.Marshal(a)
	if err != nil {
		return false
	}
	two, err := json.Marshal(b)
	if err == nil && s.Mask != nil {
		one, two = s.Mask(one), s.Mask(two)
	}
	return err == nil && bytes.Equal(one, two)
}

func nonNil(messages []chat.Message) []chat.Message { return append([]chat.Message{}, messages...) }

func (r *Recorded) invalid(turn int, format string, args ...any) error {
	return &runner.FailureError{Failure: result.Failure{
		Code: result.SpecInvalid, Source: "orchestrator", Turn: turn,
		Message: fmt.Sprintf("turn %d cannot be graded again: ", turn) + fmt.Sprintf(format, args...),
	}}
}

// Send returns the recorded reply to the next message, or the failure that was recorded in its place.
func (s *recordedSession) Send(context.Context, chat.Content) (chat.Reply, error) {
	i := s.said
	s.said++
	if i >= len(s.Of.Turns) {
		return chat.Reply{}, s.invalid(i+1, "run %s did not hold it: it stopped after turn %d; hold the test again",
			s.Run, len(s.Of.Turns))
	}
	turn := s.Of.Turns[i]
	reply := chat.Reply{
		Text: turn.Output, ToolCalls: turn.ToolCalls, Node: turn.Node, State: turn.State, TraceID: turn.TraceID,
		FinishReason: turn.FinishReason, Usage: turn.Usage, Cost: turn.Cost, Attempts: turn.Attempts,
		Requests: turn.Requests, FirstText: duration(turn.FirstTextMS),
		// A reply without a latency would be timed.
		Latency: cmp.Or(duration(float64(turn.LatencyMS)), time.Nanosecond),
		Ended:   s.Of.EndedByAgent && i == len(s.Of.Turns)-1,
	}
	if !turn.LatencyMS.Known() {
		reply.Latency, reply.Untimed = 0, true
	}
	if why := reply.Withheld(); why != "" && i < s.answered { // a record of an older version
		return reply, &runner.FailureError{Failure: result.Failure{
			Code: result.EngineError, Source: result.EngineError.Source(), Turn: i + 1,
			Message: fmt.Sprintf("run %s recorded an empty reply: it ended with the finish reason %s", s.Run, why),
		}}
	}
	if i >= s.answered {
		return reply, &runner.FailureError{Failure: s.failure(i + 1)}
	}
	return reply, nil
}

// duration returns a recorded time, which is exact to the microsecond.
func duration(ms float64) time.Duration { return time.Duration(math.Round(ms*1000)) * time.Microsecond }

// ConversationID implements runner.Identified.
func (s *recordedSession) ConversationID() string { return s.Of.ConversationID }

// SessionID implements runner.Identified.
func (s *recordedSession) SessionID() string { return s.Of.SessionID }

// Close does nothing.
func (s *recordedSession) Close() error { return nil }

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
