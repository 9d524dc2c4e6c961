package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"rehearse/internal/chat"
	"rehearse/internal/result"
	"rehearse/internal/suite"
)

// ErrInterrupted says that a conversation was given up because its caller wanted to stop; it has no record.
var ErrInterrupted = errors.New("the conversation was interrupted")

var errTooLong = errors.New("the conversation took longer than its time limit")

// Conversation is one test to be held with one target.
type Conversation struct {
	Test    *suite.Test
	Trial   int
	Target  Target
	Grading Grading
	// InOrder grades each turn before the next one is asked, so that every call comes in the order of the conversation.
	InOrder bool
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Hold holds the conversation and returns its record. An agent that fails gives a record too, not an error.
// The only errors are ErrInterrupted and a fault in an assertion, which loading should have found.
//
// The target answers one turn at a time. Each turn is graded while the next one is being asked, unless StopOnFailure or InOrder is set.
// Turns are graded in their order.
func Hold(ctx context.Context, c Conversation) (*result.Test, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	h, err := prepare(c)
	if err != nil {
		return nil, err
	}
	outer := ctx
	if limit := c.Test.Execution.ConversationTimeout; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, errTooLong)
		defer cancel()
	}
	h.talk(ctx)
	h.gradeWhole(ctx)
	if outer.Err() != nil {
		return nil, ErrInterrupted
	}
	return h.record(), nil
}

// held is a conversation while it is being held.
type held struct {
	Conversation
	threshold float64
	started   time.Time
	// turns are the checks of each turn, whole those of the conversation.
	turns [][]Check
	whole []Check

	history []chat.Message
	replies []chat.Reply
	log     []result.Turn
	scores  []result.Score
	judge   result.JudgeUse
	// failed is the failure that ended the conversation early, if any
	failed *result.Failure
	// undecided is true once a grader could not decide
	undecided bool
	stopped   bool
}

func prepare(c Conversation) (*held, error) {
	h := &held{Conversation: c, threshold: Threshold(c.Test), started: c.Now(), history: slices.Clone(c.Test.Input)}
	anyAssertion := len(c.Test.Assertions) > 0
	for _, turn := range c.Test.Turns {
		anyAssertion = anyAssertion || len(turn.Assertions) > 0
		checks, err := h.turnChecks(turn)
		if err != nil {
			return nil, err
		}
		h.turns = append(h.turns, checks)
	}
	whole := c.Test.Assertions
	if !anyAssertion && c.Test.Criteria != "" {
		if !c.Test.Conversation {
			return h, h.addCriteria()
		}
		whole = []suite.Assertion{implicit("criteria")}
	}
	var err error
	h.whole, err = h.checks(whole)
	return h, err
}

// turnChecks returns the checks of a turn. A judge call grades the expected output: the call of the turn's own criteria, or an implicit
// one when no assertion of the turn asks a judge (S2.16).
// In a single-turn test with assertions, the expected output only serves them (S2.32).
func (h *held) turnChecks(turn suite.Turn) ([]Check, error) {
	checks, err := h.checks(turn.Assertions)
	if err != nil || turn.Expected == "" || !h.Test.Conversation && len(checks) > 0 ||
		slices.ContainsFunc(checks, func(c Check) bool { return c.Judged }) {
		return checks, err
	}
	judged, err := h.checks([]suite.Assertion{implicit("expected_output")})
	return append(checks, judged...), err
}

// addCriteria adds an implicit judge call to a single-turn test without assertions: it grades the reply by the test's criteria.
// The same call sees the expected output.
func (h *held) addCriteria() error {
	checks, err := h.checks([]suite.Assertion{implicit("criteria")})
	h.turns[0] = checks
	return err
}

// implicit returns an assertion of type judge that the suite does not contain.
func implicit(name string) suite.Assertion {
	return suite.Assertion{Type: "judge", Name: name, Weight: 1, Threshold: -1}
}

func (h *held) checks(assertions []suite.Assertion) ([]Check, error) {
	var checks []Check
	for _, a := range assertions {
		c, err := h.Grading.Check(a)
		if err != nil {
			return nil, fmt.Errorf("test %s: %w", h.Test.ID, err)
		}
		checks = append(checks, c)
	}
	return checks, nil
}

// Threshold returns the score from which the test passes.
func Threshold(t *suite.Test) float64 {
	if t.Execution.Threshold != nil {
		return *t.Execution.Threshold
	}
	return suite.DefaultThreshold
}

// talk asks turn by turn and fills scores, one for each turn.
func (h *held) talk(ctx context.Context) {
	h.scores = make([]result.Score, len(h.turns))
	for i := range h.scores {
		h.scores[i] = skipped(fmt.Sprintf("turn-%d", i+1), h.turns[i])
	}
	session, err := h.Target.Open(ctx, Opening{Test: h.Test, Trial: h.Trial})
	if err != nil {
		h.engineFailure(ctx, 0, err)
		return
	}
	if s, ok := session.(Historian); ok {
		h.history = slices.Clone(s.Earlier())
	}
	defer func() { _ = session.Close() }() // a failure to close changes nothing in what was said

	// The channel never blocks: it has room for every turn.
	spoken := make(chan *Exchange, len(h.turns))
	graded := make(chan struct{})
	go func() {
		defer close(graded)
		for x := range spoken {
			h.gradeTurn(ctx, x)
		}
	}()
	defer func() { <-graded }()
	defer close(spoken)
	for i := range h.turns {
		x, err := h.say(ctx, session, i)
		if err != nil {
			h.engineFailure(ctx, i, err)
			return
		}
		if !h.Test.StopOnFailure && !h.InOrder {
			spoken <- x
			continue
		}
		h.gradeTurn(ctx, x)
		if h.Test.StopOnFailure && h.scores[i].Verdict == result.Fail {
			h.stopped = i+1 < len(h.turns)
			return
		}
	}
}

// say sends one user message and adds the actual reply to the history.
func (h *held) say(ctx context.Context, session Session, i int) (*Exchange, error) {
	turn := h.Test.Turns[i]
	asked := h.Now()
	reply, err := session.Send(ctx, turn.Input)
	if reply.Latency == 0 {
		reply.Latency = h.Now().Sub(asked)
	}
	reply.Attempts = max(1, reply.Attempts)
	if err != nil && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)) {
		reply.Usage.Unknown, reply.Cost.Unknown = true, true // the model may have worked for nobody
	}
	h.log = append(h.log, result.Turn{
		Index: i + 1, TurnID: turn.ID, Input: turn.Input, Output: reply.Text, LatencyMS: milliseconds(reply.Latency), Attempts: reply.Attempts,
		ToolCalls: reply.ToolCalls, Node: reply.Node, State: reply.State, Usage: reply.Usage, Cost: reply.Cost, TraceID: reply.TraceID,
		FinishReason: reply.FinishReason,
	})
	h.history = append(h.history, chat.Message{Role: chat.User, Content: turn.Input})
	if err != nil {
		var tries interface{ Tries() int }
		if errors.As(err, &tries) {
			h.log[i].Attempts = max(reply.Attempts, tries.Tries())
		}
		return nil, err
	}
	x := &Exchange{
		Test: h.Test, Turn: i + 1, Input: window(h.history, h.Test.WindowSize), Output: reply.Text, Text: reply.Text,
		Expected: turn.Expected, Criteria: h.Test.Criteria, Reply: reply, TurnCount: i + 1,
	}
	h.history = append(h.history, reply.Message())
	h.replies = append(h.replies, reply)
	return x, nil
}

// window returns the system messages and the last n turns; a turn begins with a user's message. An n of 0 keeps everything.
func window(history []chat.Message, n int) []chat.Message {
	if n == 0 {
		return slices.Clip(history)
	}
	start := len(history)
	for start > 0 && n > 0 {
		start--
		if history[start].Role == chat.User {
			n--
		}
	}
	var seen []chat.Message
	for i, m := range history {
		if i >= start || m.Role == chat.System {
			seen = append(seen, m)
		}
	}
	return seen
}

// engineFailure records that the target did not answer turn i. Later turns stay skipped.
func (h *held) engineFailure(ctx context.Context, i int, err error) {
	f := result.Failure{Code: result.EngineError, Source: "transport", Turn: i + 1, Message: err.Error()}
	if _, seeded := errors.AsType[*SeedError](err); seeded {
		f.Code, f.Source = result.SeedMismatch, "target"
	}
	if errors.Is(err, context.DeadlineExceeded) {
		f.Code, f.Source = result.Timeout, "orchestrator"
	}
	if errors.Is(context.Cause(ctx), errTooLong) {
		f.Code, f.Source = result.Timeout, "orchestrator"
		f.Message = tooLong(h.Test)
	}
	h.failed = &f
	if i < len(h.scores) {
		h.scores[i].Verdict = result.Error
		h.scores[i].Failures = []result.Failure{f}
	}
}

func tooLong(t *suite.Test) string {
	return fmt.Sprintf("%v (%s)", errTooLong, t.Execution.ConversationTimeout)
}

func (h *held) gradeTurn(ctx context.Context, x *Exchange) {
	item, use, decided := grade(ctx, h.scores[x.Turn-1].Name, h.turns[x.Turn-1], x, h.threshold)
	h.scores[x.Turn-1] = item
	h.judge = h.judge.Add(use)
	h.undecided = h.undecided || !decided
}

// gradeWhole grades the transcript by the test's own assertions, as one more score.
func (h *held) gradeWhole(ctx context.Context) {
	if len(h.whole) == 0 {
		return
	}
	if h.failed != nil {
		h.scores = append(h.scores, skipped("assertions", h.whole))
		return
	}
	item, use, decided := grade(ctx, "assertions", h.whole, h.wholeExchange(), h.threshold)
	item.PartialTranscript = h.stopped
	h.scores = append(h.scores, item)
	h.judge = h.judge.Add(use)
	h.undecided = h.undecided || !decided
}

func (h *held) wholeExchange() *Exchange {
	x := &Exchange{Test: h.Test, Input: slices.Clip(h.history), Criteria: h.Test.Criteria, TurnCount: len(h.replies), Partial: h.stopped}
	var said []string
	for _, r := range h.replies {
		said = append(said, r.Text)
		x.Output = r.Text
		x.Reply.ToolCalls = append(x.Reply.ToolCalls, r.ToolCalls...)
		x.Reply.Usage = x.Reply.Usage.Add(r.Usage)
		x.Reply.Cost = x.Reply.Cost.Add(r.Cost)
		x.Reply.Latency += r.Latency
		x.Reply.Node, x.Reply.State, x.Reply.FinishReason = r.Node, r.State, r.FinishReason
	}
	x.Text = strings.Join(said, "\n\n")
	x.Reply.Text = x.Text
	return x
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
