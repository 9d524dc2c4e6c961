package evaluation

import (
	"cmp"
	"context"
	"errors"
	"time"

	"rehearse/internal/chat"
	"rehearse/internal/llm"
	"rehearse/internal/orchestrator"
	"rehearse/internal/result"
	"rehearse/internal/runner"
	"rehearse/internal/suite"
)

// freshly distinguishes the graders that judge the transcripts of a test again: their judge remembers nothing.
func freshly(t *suite.Test) gradingKey {
	key := gradingOf(t)
	key.cached = false
	return key
}

// prepareRejudging makes the graders with which transcripts are judged again.
func (e *Evaluation) prepareRejudging() error {
	trials := false
	for u, err := range e.planned.units() {
		if err != nil {
			return err
		}
		if u.Test.Execution.Trials.Count == 0 {
			continue
		}
		trials = true
		if _, ready := e.grading[freshly(u.Test)]; ready {
			continue
		}
		if err := e.prepareGrading(freshly(u.Test), e.planned.gradings[gradingOf(u.Test)]); err != nil {
			return err
		}
	}
	if !trials {
		e.warn("--attribute-flakes finds nothing: no test has trials; add --trials N")
	}
	return nil
}

// rejudge grades the transcript of a trial again. No target is asked, and no remembered verdict is used.
func (e *Evaluation) rejudge(ctx context.Context, j orchestrator.Job, trial *result.Test) (*result.Test, error) {
	k := j.Key()
	ctx = llm.InConversation(ctx, llm.Conversation{Suite: k.Suite, Test: k.TestID, Target: k.Target, Trial: k.Trial})
	return runner.Hold(ctx, runner.Conversation{
		Test: j.Test, Trial: j.Trial, ID: trial.ConversationID, Target: &transcript{trial}, Grading: e.grading[freshly(j.Test)],
		InOrder: e.planned.workers == 1, Now: e.setup.Now, Log: e.setup.Log,
	})
}

// transcript is a target that says again what it said in a trial.
type transcript struct{ of *result.Test }

// Open returns a session that says what was said.
func (t *transcript) Open(_ context.Context, o runner.Opening) (runner.Session, error) {
	return &replies{of: t.of, test: o.Test}, nil
}

type replies struct {
	of   *result.Test
	test *suite.Test
	said int
}

// Send returns the reply to the next message.
func (r *replies) Send(context.Context, chat.Content) (chat.Reply, error) {
	if r.said == len(r.of.Turns) {
		return chat.Reply{}, errors.New("the trial had no such turn")
	}
	turn := r.of.Turns[r.said]
	r.said++
	return chat.Reply{
		Text: turn.Output, ToolCalls: turn.ToolCalls, Node: turn.Node, State: turn.State, TraceID: turn.TraceID, FinishReason: turn.FinishReason,
		Usage: turn.Usage, Cost: turn.Cost, Attempts: turn.Attempts, Requests: turn.Requests,
		Latency: cmp.Or(time.Duration(turn.LatencyMS*float64(time.Millisecond)), time.Nanosecond), // one without a latency would be timed
		Ended:   r.of.EndedByAgent && r.said == len(r.of.Turns),
	}, nil
}

// Earlier returns what was said before the first turn: system messages are not part of a record.
func (r *replies) Earlier() []chat.Message {
	var system, said []chat.Message
	for _, m := range r.test.Input {
		if m.Role == chat.System {
			system = append(system, m)
		} else {
			said = append(said, m)
		}
	}
	before := r.of.Output[:max(0, len(r.of.Output)-2*len(r.of.Turns))]
	if len(before) == len(said) {
		return r.test.Input
	}
	return append(system, before...)
}

// Close does nothing.
func (r *replies) Close() error { return nil }
