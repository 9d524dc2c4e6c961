package runner_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/eval/grader"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// caller is a user that answers by a function of the turn, and notes the talk that it was told last.
type caller struct {
	say  func(ctx context.Context, turn int) (runner.Line, error)
	told runner.UserScript
}

func (c *caller) Next(ctx context.Context, t runner.UserScript) (runner.Line, error) {
	c.told = t
	return c.say(ctx, t.Turn)
}

func (c *caller) Account(end result.UserEnd, said []chat.Content) result.User {
	return result.User{Model: "openai:caller", Calls: len(said)}
}

// saying says the lines, as what follows turns that are written. A line may end with [END]; behind the last the user
// says nothing more.
func saying(written int, lines ...string) *caller {
	return &caller{say: func(_ context.Context, turn int) (runner.Line, error) {
		i := turn - 1 - written
		if i >= len(lines) {
			return runner.Line{End: true}, nil
		}
		said, end := strings.CutSuffix(lines[i], "[END]")
		return runner.Line{Message: chat.Content{Text: said}, End: end}, nil
	}}
}

// holdWith holds a test with a simulated user, in every way that turns can be graded, which must all come to the same.
func holdWith(t *testing.T, yaml string, a *agent, u func() *caller) (*result.Test, *caller) {
	t.Helper()
	var first *result.Test
	var with *caller
	for _, inOrder := range []bool{true, false} {
		with = u()
		got, err := runner.Run(t.Context(), runner.Conversation{
			Test: loadOne(t, yaml), Target: a, User: with, Grading: grader.New(grader.Config{Judge: denying()}),
			InOrder: inOrder, Now: func() time.Time { return time.Time{} }, ID: "c",
		})
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = got
		}
		if diff := cmp.Diff(brief(first), brief(got)); diff != "" {
			t.Errorf("the order of grading matters:\n%s", diff)
		}
	}
	return first, with
}

func TestSimulatedTalks(t *testing.T) {
	answers := func(texts ...string) *agent {
		return &agent{answer: func(turn int, _ []chat.Message) (chat.Reply, error) {
			text := texts[min(turn, len(texts))-1]
			if text == "BREAK" {
				return chat.Reply{}, errors.New("no connection")
			}
			said, ended := strings.CutSuffix(text, "[END]")
			return chat.Reply{Text: said, Ended: ended}, nil
		}}
	}
	for _, tc := range []struct {
		name, yaml string
		agent      *agent
		lines      []string
		want       []string
		end        result.UserEnd
		verdict    result.Verdict
		failure    string
	}{
		{
			"the user ends", "id: t\nuser: {goal: x}\nassertions: [{type: contains, value: c}]", answers("a", "b", "c"),
			[]string{"1", "2", "3[END]"},
			[]string{"turn-1 pass 1", "turn-2 pass 1", "turn-3 pass 1", "assertions pass 1"},
			result.EndUser, result.Pass, "",
		},
		{
			"the user says nothing more", "id: t\nuser: {goal: x}", answers("a"), []string{"1", "2"},
			[]string{"turn-1 pass 1", "turn-2 pass 1"}, result.EndUser, result.Ungraded, "",
		},
		{
			"the limit, with written turns", "id: t\nturns: [{input: w, assertions: [{type: contains, value: a}]}]\n" +
				"user: {goal: x, max_turns: 3}\nevery_turn: [{type: contains, value: b}]",
			answers("a", "b"),
			[]string{"1", "2", "3"},
			[]string{"turn-1 fail 0.5", "turn-2 pass 1", "turn-3 pass 1"},
			result.EndTurnLimit, result.Pass, "",
		},
		{
			"a limit is graded like any other end",
			"id: t\nuser: {goal: x, max_turns: 1}\nevery_turn: [{type: contains, value: b}]", answers("a"),
			[]string{"1", "2"},
			[]string{"turn-1 fail 0"},
			result.EndTurnLimit, result.Fail, "ASSISTANT_CONTENT",
		},
		{
			"the agent ends", "id: t\nuser: {goal: x}", answers("a", "b[END]"), []string{"1", "2", "3"},
			[]string{"turn-1 pass 1", "turn-2 pass 1"}, result.EndAgent, result.Ungraded, "",
		},
		{
			"the agent ends before written turns", "id: t\nturns: [{input: w}, {input: v}]\nuser: {goal: x}",
			answers("a[END]"), []string{"1"},
			[]string{"turn-1 pass 1", "turn-2 skip 0"},
			result.EndAgent, result.Fail, "",
		},
		{
			"a stop", "id: t\nuser: {goal: x, stop: [never, {type: contains, value: b}]}", answers("a", "b"),
			[]string{"1", "2", "3"},
			[]string{"turn-1 pass 1", "turn-2 pass 1"},
			result.EndStop, result.Ungraded, "",
		},
		{
			"a stop waits for written turns",
			"id: t\nturns: [{input: w}, {input: v}]\nuser: {goal: x, stop: {type: contains, value: a}}",
			answers("a", "b"), []string{"1"},
			[]string{"turn-1 pass 1", "turn-2 pass 1"},
			result.EndStop, result.Ungraded, "",
		},
		{
			"a stop that cannot be decided",
			"id: t\nuser: {goal: x, stop: {type: cost, max_usd: 1}}\nevery_turn: [{type: contains, value: z}]",
			&agent{answer: func(int, []chat.Message) (chat.Reply, error) {
				return chat.Reply{Text: "a", Cost: chat.Cost{Unknown: true}}, nil
			}},
			[]string{"1", "2"},
			[]string{"turn-1 fail 0"},
			"", result.Error, "JUDGE_ERROR",
		},
		{
			"a failed turn stops", "id: t\non_turn_failure: stop\nuser: {goal: x}\nevery_turn: [{type: " +
				"contains, value: a}]\nassertions: [{type: contains, value: a}]",
			answers("a", "b"), []string{"1", "2", "3"},
			[]string{"turn-1 pass 1", "turn-2 fail 0", "turn-3 skip 0", "assertions pass 1"},
			result.EndStop, result.Fail, "ASSISTANT_CONTENT",
		},
		{
			"the last turn fails",
			"id: t\non_turn_failure: stop\nuser: {goal: x, max_turns: 2}\nevery_turn: [{type: contains, value: a}]",
			answers("a", "b"), []string{"1", "2", "3"},
			[]string{"turn-1 pass 1", "turn-2 fail 0"},
			result.EndTurnLimit, result.Fail, "ASSISTANT_CONTENT",
		},
		{
			"no word at all",
			"id: t\nuser: {goal: x}\nassertions: [{type: not_contains, value: z}]\nexecution: {threshold: 0}",
			answers("a"), nil, []string{"turn-1 error 0", "assertions skip 0"}, result.EndUser,
			result.Error, "ENGINE_ERROR by user in 1: the user ended the talk before it said anything, " +
				"so that there is no reply to grade",
		},
		{
			"the target breaks", "id: t\nuser: {goal: x}\nassertions: [{type: contains, value: a}]",
			answers("a", "BREAK"), []string{"1", "2", "3"},
			[]string{"turn-1 pass 1", "turn-2 error 0", "assertions skip 0"},
			"", result.Error, "ENGINE_ERROR by transport in 2: no connection",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			written := strings.Count(tc.yaml, "input:")
			got, _ := holdWith(t, tc.yaml, tc.agent, func() *caller { return saying(written, tc.lines...) })
			if diff := cmp.Diff(tc.want, brief(got)); diff != "" {
				t.Errorf("scores (-want +got):\n%s", diff)
			}
			if got.User.End != tc.end || got.Verdict != tc.verdict || got.User.Turns != len(got.Turns) {
				t.Errorf("end %q of %d turns, verdict %s", got.User.End, got.User.Turns, got.Verdict)
			}
			if tc.failure != "" && !slices.ContainsFunc(got.Failures, func(f result.Failure) bool {
				return strings.HasPrefix(fmt.Sprintf("%s by %s in %d: %s", f.Code, f.Source, f.Turn, f.Message),
					tc.failure)
			}) {
				t.Errorf("failures = %+v", got.Failures)
			}
		})
	}
}

// A user that breaks off says nothing about the agent: neither a pass nor a fail, also when turns failed before.
func TestUserFault(t *testing.T) {
	const yaml = "id: t\nuser: {goal: x}\nevery_turn: [{type: contains, value: b}]\nassertions: [{type: contains, " +
		"value: answer}]"
	for name, then := range map[string]func() (runner.Line, error){
		"error": func() (runner.Line, error) { return runner.Line{}, errors.New("it died") },
		"panic": func() (runner.Line, error) { panic("it died") },
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := holdWith(t, yaml, echo(), func() *caller {
				return &caller{say: func(_ context.Context, turn int) (runner.Line, error) {
					if turn == 1 {
						return runner.Line{Message: chat.Content{Text: "hi"}}, nil
					}
					return then()
				}}
			})
			if diff := cmp.Diff([]string{"turn-1 fail 0", "turn-2 error 0", "assertions skip 0"},
				brief(got)); diff != "" {
				t.Error(diff)
			}
			f := got.Failures[len(got.Failures)-1]
			if got.ExecutionStatus != result.ExecutionError || got.Score != 0 || got.User.End != result.EndFault ||
				got.User.Turns != 1 || f.Code != result.EngineError || f.Source != "user" || f.Turn != 2 ||
				!strings.Contains(f.Message, "it died") {
				t.Errorf("status %s, user %+v, failure %+v", got.ExecutionStatus, got.User, f)
			}
		})
	}
}

// The user is told what was said, and nothing more is said than that.
func TestUserIsTold(t *testing.T) {
	a := echo()
	_, u := holdWith(t, "id: t\ninput: [{role: system, content: s}]\nturns: [{input: w}]\nuser: {goal: x}", a,
		func() *caller { return saying(1, "1") })
	want := []chat.Message{
		chat.NewMessage(chat.System, "s"), chat.NewMessage(chat.User, "w"), chat.NewMessage(chat.Assistant, "answer 1"),
		chat.NewMessage(chat.User, "1"), chat.NewMessage(chat.Assistant, "answer 2"),
	}
	if diff := cmp.Diff(want, u.told.Messages); diff != "" || u.told.Turn != 3 {
		t.Errorf("turn %d, told (-want +got):\n%s", u.told.Turn, diff)
	}
}

// The time of a conversation holds for its user, too, also for one that does not listen.
func TestUserTakesTooLong(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			u := &caller{say: func(ctx context.Context, turn int) (runner.Line, error) {
				if turn == 1 {
					return runner.Line{Message: chat.Content{Text: "hi"}}, nil
				}
				if deaf {
					time.Sleep(time.Hour)
				}
				<-ctx.Done()
				return runner.Line{}, ctx.Err()
			}}
			got, err := runner.Run(t.Context(), runner.Conversation{
				Test: loadOne(t, "id: t\nuser: {goal: x}\nexecution: {conversation_timeout: 10}"), Target: echo(),
				User: u, Grading: grader.New(grader.Config{}),
			})
			if err != nil {
				t.Fatal(err)
			}
			f := got.Failures[0]
			if got.Verdict != result.Error || f.Code != result.Timeout || f.Source != "orchestrator" ||
				got.User.End != "" {
				t.Errorf("verdict %s, user %+v, failure %+v", got.Verdict, got.User, f)
			}
			time.Sleep(2 * time.Hour) // the deaf one comes back
		})
	}
}

// A caller that wants to stop gets no record of a talk that its user had not ended.
func TestUserIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	u := &caller{say: func(ctx context.Context, _ int) (runner.Line, error) {
		cancel()
		return runner.Line{}, ctx.Err()
	}}
	_, err := runner.Run(ctx, runner.Conversation{
		Test: loadOne(t, "id: t\nuser: {goal: x}"), Target: echo(), User: u, Grading: grader.New(grader.Config{}),
	})
	if !errors.Is(err, runner.ErrInterrupted) {
		t.Errorf("err = %v", err)
	}
}

// A test whose user nobody plays is refused, not passed.
func TestNobodyPlays(t *testing.T) {
	got, err := runner.Run(t.Context(), runner.Conversation{
		Test: loadOne(t, "id: t\nuser: {goal: x}\nturns: [{input: a}]"), Target: echo(),
		Grading: grader.New(grader.Config{}),
	})
	if err != nil || got.Verdict != result.Error || got.Failures[0].Code != result.SpecInvalid {
		t.Errorf("verdict %v, failures %v, %v", got.Verdict, got.Failures, err)
	}
}

// every_turn is added to written turns, with a user or without.
func TestEveryTurn(t *testing.T) {
	got := hold(t, "id: t\nmode: conversation\nturns: [{input: a, assertions: [{type: contains, value: answer}]}, "+
		"{input: b}]\nevery_turn: [{type: contains, value: \"2\"}]", echo(), nil)
	if diff := cmp.Diff([]string{"turn-1 fail 0.5", "turn-2 pass 1"}, brief(got)); diff != "" || got.User != nil {
		t.Error(diff)
	}
}
