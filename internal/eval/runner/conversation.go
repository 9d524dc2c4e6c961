package runner

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/trace"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// ErrInterrupted says that a conversation was given up because its caller wanted to stop; it has no record.
var ErrInterrupted = errors.New("the conversation was interrupted")

var errTooLong = errors.New("the conversation took longer than its time limit")

// Conversation is one test to be held with one target.
type Conversation struct {
	Test  *suite.Test
	Trial int
	// TargetName is what spans call the target. Regraded is true of a conversation that was held before, and is only
	// graded again.
	TargetName string
	Regraded   bool
	// ID is the conversation's own; empty draws one.
	ID      string
	Target  Target
	Grading Grading
	// User says what comes after the test's turns, where the test has a simulated user. It serves this conversation
	// alone.
	User User
	// InOrder grades each turn before the next one is asked, so that every call comes in the order of the conversation.
	InOrder bool
	// Turned, if set, is called when the agent has answered a turn, counted from 1, of so many at most. It must return
	// quickly.
	Turned func(turn, of int)
	// Guard is shared by several conversations; nil gives this one its own.
	Guard *Guard
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Log gets the stacks of panics at debug level; nil discards them.
	Log *slog.Logger
}

// Run holds the conversation and returns its record. An agent that fails, a grader that cannot decide and a panic of
// either give a record too; the only error is ErrInterrupted.
//
// The target answers one turn at a time. Each turn is graded while the next one is being asked, unless StopOnFailure or
// InOrder is set. Turns are graded in their order.
func Run(ctx context.Context, c Conversation) (t *result.Test, err error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	c.ID = cmp.Or(c.ID, rand.Text())
	h := &activeConversation{
		Conversation: c, threshold: Threshold(c.Test), started: c.Now(), history: slices.Clone(c.Test.Input),
	}
	if h.Guard == nil {
		h.Guard = &Guard{Log: c.Log}
		defer h.Guard.Close()
	}
	led := ctx
	ctx = h.traced(led)
	defer func() { h.finish(ctx, t) }()
	prepared := *h // a copy, to which a check that hangs may write later
	prepare := func() (struct{}, error) { return struct{}{}, prepared.prepare() }
	if _, err := isolate(ended(), h.Guard, prepare, nil); err != nil {
		h.refuse(fmt.Errorf("test %s: %w", h.Test.ID, err))
		return h.record(), nil
	}
	h = &prepared
	outer := ctx
	if limit := c.Test.Execution.ConversationTimeout; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, errTooLong)
		defer cancel()
	}
	session, err := h.open(ctx)
	if id := h.ID; h.identify(session) && h.ID != id { // a recording is played
		ctx = h.traced(trace.Carry(ctx, led))
	}
	h.talk(ctx, session, err)
	h.heard()
	h.gradeWhole(ctx)
	if outer.Err() != nil && (h.failed != nil || h.undecided) {
		return nil, ErrInterrupted
	}
	return h.record(), nil // also of a conversation that was complete when its caller wanted to stop
}

// activeConversation is a conversation while it is being held.
type activeConversation struct {
	Conversation
	threshold float64
	started   time.Time
	// turns are the checks of each turn, whole those of the conversation.
	turns [][]Check
	whole []Check
	// stops end a talk with a simulated user. Of such a talk, turns has as many as there may be; reached is how many of
	// them count.
	stops   []Check
	reached int
	// end is how such a talk ended; empty when it broke off.
	end result.UserEnd

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
	// spoiled is how the simulated user ended the conversation by a fault; nil if it did not
	spoiled *UserInvalidError
	// sessionID is the agent's id of the conversation; ended is true once the agent has ended it.
	sessionID string
	ended     bool
	// abandoned is true once the session did not come back from a turn; it is closed when it does
	abandoned bool
	// span is that of the conversation.
	span *trace.Span
}

// prepare makes the checks of every turn and of the whole. An error is a fault in an assertion, which loading should
// have found.
func (h *activeConversation) prepare() error {
	anyAssertion := len(h.Test.Assertions)+len(h.Test.EveryTurn) > 0
	for _, turn := range h.Test.Turns {
		anyAssertion = anyAssertion || len(turn.Assertions) > 0
		checks, err := h.turnChecks(turn)
		if err != nil {
			return err
		}
		h.turns = append(h.turns, checks)
	}
	if err := h.prepareUser(); err != nil {
		return err
	}
	whole := h.Test.Assertions
	if !anyAssertion && h.Test.Criteria != "" {
		if !h.Test.Conversation {
			return h.addCriteria()
		}
		whole = []suite.Assertion{implicit("criteria")}
	}
	var err error
	h.whole, err = h.checks(whole)
	return err
}

// refuse records that the conversation was not begun.
func (h *activeConversation) refuse(err error) {
	f := result.Failure{Code: result.SpecInvalid, Source: "orchestrator", Message: err.Error()}
	if errors.Is(err, errPanic) {
		f.Code = result.EngineError
	}
	h.turns = make([][]Check, len(h.Test.Turns))
	h.skipTurns()
	h.failed = &f
}

// skipTurns fills scores as they are until a turn is graded.
func (h *activeConversation) skipTurns() {
	h.scores = make([]result.Score, len(h.turns))
	for i := range h.scores {
		h.scores[i] = skipped(fmt.Sprintf("turn-%d", i+1), h.turns[i])
	}
}

// turnChecks returns the checks of a turn. A judge call grades the expected output: the call of the turn's own
// criteria, or an implicit one when no assertion of the turn calls a judge.
func (h *activeConversation) turnChecks(turn suite.Turn) ([]Check, error) {
	checks, err := h.checks(turn.Assertions)
	if err != nil || !turn.JudgesExpected() ||
		slices.ContainsFunc(checks, func(c Check) bool { return c.Judged }) {
		return checks, err
	}
	judged, err := h.checks([]suite.Assertion{implicit("expected_output")})
	return append(checks, judged...), err
}

// addCriteria adds an implicit judge call to a single-turn test without assertions: it grades the reply by the test's
// criteria. The same call sees the expected output.
func (h *activeConversation) addCriteria() error {
	checks, err := h.checks([]suite.Assertion{implicit("criteria")})
	h.turns[0] = checks
	return err
}

// implicit returns an assertion that the suite does not contain: one of criteria, without parameters.
func implicit(name string) suite.Assertion {
	return suite.Assertion{Type: suite.Rubrics, Name: name, Weight: 1, Threshold: -1}
}

func (h *activeConversation) checks(assertions []suite.Assertion) ([]Check, error) {
	var checks []Check
	for _, a := range assertions {
		c, err := h.Grading.Check(a)
		if err != nil {
			return nil, err
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

func (h *activeConversation) gradeTurn(t spokenTurn) {
	x := t.exchange
	item, use, decided := h.grade(t.ctx, h.scores[x.Turn-1].Name, h.turns[x.Turn-1], x)
	h.scores[x.Turn-1] = item
	evaluated(t.span, item)
	t.span.Finish()
	h.judge = h.judge.Add(use)
	h.undecided = h.undecided || !decided
}

// gradeWhole grades the transcript by the test's own assertions, as one more score.
func (h *activeConversation) gradeWhole(ctx context.Context) {
	if len(h.whole) == 0 {
		return
	}
	if h.failed != nil || h.spoiled != nil {
		h.scores = append(h.scores, skipped(wholeName, h.whole))
		return
	}
	item, use, decided := h.grade(ctx, wholeName, h.whole, h.wholeExchange())
	item.PartialTranscript = h.stopped
	h.scores = append(h.scores, item)
	h.judge = h.judge.Add(use)
	h.undecided = h.undecided || !decided
}

// wholeName is the name of the score of the whole conversation.
const wholeName = "assertions"

func (h *activeConversation) wholeExchange() *Exchange {
	x := &Exchange{
		Test: h.Test, Input: h.shown(), Criteria: h.Test.Criteria, TurnCount: len(h.replies),
		Partial: h.stopped,
	}
	var said []string
	for _, r := range h.replies {
		said = append(said, r.Text)
		x.Output = r.Text
		x.Reply.ToolCalls = append(x.Reply.ToolCalls, r.ToolCalls...)
		x.Reply.Usage = x.Reply.Usage.Add(r.Usage)
		x.Reply.Cost = x.Reply.Cost.Add(r.Cost)
		x.Reply.Latency += r.Latency
		x.Reply.Untimed = x.Reply.Untimed || r.Untimed
		x.Reply.Node, x.Reply.State, x.Reply.FinishReason = r.Node, r.State, r.FinishReason
	}
	x.Reply.Requests = requests(h.replies)
	x.Text = strings.Join(said, "\n\n")
	x.Reply.Text = x.Text
	return x
}

// shown returns the history as graders see it: with what the agent's tools returned. Targets and users see calls alone.
func (h *activeConversation) shown() []chat.Message {
	messages, left := slices.Clone(h.history), len(h.replies)
	for i := len(messages) - 1; i >= 0 && left > 0; i-- {
		if messages[i].Role == chat.Assistant {
			left--
			messages[i].ToolCalls = h.replies[left].ToolCalls
		}
	}
	return messages
}

// requests returns how many requests to a model the replies took; 0 when one of them does not say.
func requests(replies []chat.Reply) (sum int) {
	for _, r := range replies {
		if r.Requests == 0 {
			return 0
		}
		sum += r.Requests
	}
	return sum
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
