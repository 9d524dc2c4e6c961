package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/eval/grader"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// graderFunc is a grader, and the grading that makes it of every assertion.
type graderFunc func(x *runner.Exchange) (result.Grade, error)

func (f graderFunc) Grade(_ context.Context, x *runner.Exchange) (result.Grade, error) { return f(x) }

func (f graderFunc) Check(a suite.Assertion) (runner.Check, error) {
	return runner.Check{Assertion: a, Grader: f}, nil
}

// TestWholeSeesSums holds that what grades the whole conversation sees what all of its turns took, not those of the
// last one.
func TestWholeSeesSums(t *testing.T) {
	var whole runner.Exchange
	a := &agent{answer: func(turn int, _ []chat.Message) (chat.Reply, error) {
		return chat.Reply{
			Text: fmt.Sprintf("answer %d", turn), ToolCalls: []chat.ToolCall{{Name: fmt.Sprintf("tool-%d", turn)}},
			Usage: chat.Usage{InputTokens: 10, OutputTokens: turn}, Cost: chat.Cost{USD: 0.25},
			Latency: time.Duration(turn) * time.Second, Node: fmt.Sprintf("node-%d", turn),
			State: json.RawMessage(fmt.Sprint(turn)),
		}, nil
	}}
	test := loadOne(t, "id: x\nmode: conversation\nturns: [{input: a}, {input: b}, {input: c}]\nassertions: [{type: "+
		"contains, value: x}]")
	_, err := runner.Run(t.Context(), runner.Conversation{
		Test: test, Target: a, Grading: graderFunc(func(x *runner.Exchange) (result.Grade, error) {
			whole = *x
			return result.Grade{Score: 1}, nil
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := chat.Reply{
		Text:      "answer 1\n\nanswer 2\n\nanswer 3",
		ToolCalls: []chat.ToolCall{{Name: "tool-1"}, {Name: "tool-2"}, {Name: "tool-3"}},
		Usage:     chat.Usage{InputTokens: 30, OutputTokens: 6}, Cost: chat.Cost{USD: 0.75}, Latency: 6 * time.Second,
		Node: "node-3", State: json.RawMessage("3"),
	}
	if diff := cmp.Diff(want, whole.Reply); diff != "" {
		t.Errorf("reply (-want +got):\n%s", diff)
	}
	if whole.Output != "answer 3" || whole.Turn != 0 || whole.TurnCount != 3 || whole.Partial {
		t.Errorf("exchange %+v", whole)
	}
}

func TestPartialTranscript(t *testing.T) {
	for _, tc := range []struct {
		name, denied string
		turns        int
		partial      bool
	}{
		{"nothing fails", "", 2, false},
		{"a turn before the last one fails", "first", 1, true},
		{"the last turn fails", "second", 2, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := hold(t, "id: x\nmode: conversation\non_turn_failure: stop\nturns: [{input: a, assertions: "+
				"[first]}, {input: b, assertions: [second]}]\nassertions: [whole]", echo(), denying(tc.denied))
			if whole := got.Scores[2]; whole.PartialTranscript != tc.partial || len(got.Turns) != tc.turns {
				t.Errorf("partial %t after %d turns, want %t after %d", whole.PartialTranscript, len(got.Turns),
					tc.partial, tc.turns)
			}
		})
	}
}

// TestUndecidedIsNotForgiven holds that a grader that could not decide makes the test an error, whatever others decided
// after it.
func TestUndecidedIsNotForgiven(t *testing.T) {
	for _, unclear := range []string{"first", "second", "whole"} {
		j := denying()
		sure := j.answer
		j.answer = func(q grader.Question) (grader.Verdict, error) {
			if q.Rubrics[0].Outcome == unclear {
				return grader.Verdict{Use: result.JudgeUse{Calls: 1}}, errors.New("garbage")
			}
			return sure(q)
		}
		got := hold(t, "id: x\nmode: conversation\nturns: [{input: a, assertions: [first]}, {input: b, assertions: "+
			"[second]}]\nassertions: [whole]", echo(), j)
		if got.Verdict != result.Error || got.ExecutionStatus != result.ExecutionError || len(got.Failures) != 1 ||
			got.Failures[0].Code != result.JudgeError {
			t.Errorf("%s undecided: %s %s, failures %v", unclear, got.Verdict, got.ExecutionStatus, got.Failures)
		}
		if got.Judge.Calls != 3 {
			t.Errorf("%s undecided: %d calls of the judge are counted, want 3", unclear, got.Judge.Calls)
		}
	}
}

// TestCostHasTheJudge holds that a test costs what the agent and the judge cost, in turns and for the whole.
func TestCostHasTheJudge(t *testing.T) {
	j := denying()
	free := j.answer
	j.answer = func(q grader.Question) (grader.Verdict, error) {
		v, err := free(q)
		v.Use.Cost.USD, v.Use.Usage = 0.5, chat.Usage{InputTokens: 100, OutputTokens: 7}
		return v, err
	}
	got := hold(t, "id: x\nmode: conversation\nturns: [{input: a, assertions: [yes]}, {input: b, assertions: "+
		"[yes]}]\nassertions: [whole]", echo(), j)
	if math.Abs(got.Cost.USD-1.52) > 1e-12 {
		t.Errorf("cost %v, want 2 × 0.01 of the agent and 3 × 0.50 of the judge", got.Cost.USD)
	}
	want := result.JudgeUse{Calls: 3, Usage: chat.Usage{InputTokens: 300, OutputTokens: 21}, Cost: chat.Cost{USD: 1.5}}
	if diff := cmp.Diff(want, got.Judge); diff != "" {
		t.Errorf("judge (-want +got):\n%s", diff)
	}
	if got.Usage != (chat.Usage{InputTokens: 20, OutputTokens: 4}) {
		t.Errorf("usage %+v, want the agent's alone", got.Usage)
	}
}

// TestFailuresAreSorted holds that a test's failures are in the order of their codes, whichever turn they are of.
func TestFailuresAreSorted(t *testing.T) {
	got := hold(t, "id: x\nmode: conversation\nturns: [{input: a, assertions: [no]}, {input: b, assertions: [{type: "+
		"contains, value: zebra}]}]", echo(), denying("no"))
	var failures []string
	for _, f := range got.Failures {
		failures = append(failures, fmt.Sprint(f.Code, " of turn ", f.Turn))
	}
	if diff := cmp.Diff([]string{"ASSISTANT_CONTENT of turn 2", "QUALITY_JUDGE_FAIL of turn 1"}, failures); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
}

// TestWindow holds what a grader sees of the history: system messages and the last turns, or everything where there are
// no more.
func TestWindow(t *testing.T) {
	for size, want := range map[int]string{
		1: "S,two", 2: "S,one,answer 1,two", 3: "S,before,earlier,one,answer 1,two",
		9: "S,before,earlier,one,answer 1,two",
	} {
		j := denying()
		hold(t, fmt.Sprintf(`
id: x
mode: conversation
window_size: %d
input: [{role: system, content: S}, {role: user, content: before}, {role: assistant, content: earlier}]
turns: [{input: one}, {input: two, assertions: [c]}]`, size), echo(), j)
		var said []string
		for _, m := range j.asked[0].Input {
			said = append(said, m.Content.Text)
		}
		if got := strings.Join(said, ","); got != want {
			t.Errorf("window of %d: %s, want %s", size, got, want)
		}
	}
}

// TestGraderThatPanics holds that a fault of a grader is an error of its test: of a turn, also while the next one is
// asked, or of the whole.
func TestGraderThatPanics(t *testing.T) {
	for name, tc := range map[string]struct {
		turn    int
		inOrder bool
	}{
		"beside the next turn": {1, false}, "before the next turn": {1, true}, "in the last turn": {2, false},
		"for the whole": {0, false},
	} {
		t.Run(name, func(t *testing.T) {
			test := loadOne(t, "id: x\nmode: conversation\nturns: [{input: a, assertions: [yes]}, {input: b, "+
				"assertions: [yes]}]\nassertions: [whole]")
			graded := 0
			got, err := runner.Run(t.Context(), runner.Conversation{
				Test: test, Target: echo(), InOrder: tc.inOrder, Grading: graderFunc(
					func(x *runner.Exchange) (result.Grade, error) {
						if x.Turn == tc.turn {
							panic("boom")
						}
						graded++
						return result.Grade{Score: 1, Assertions: []result.Assertion{{Text: "fine", Passed: true}}}, nil
					}),
			})
			if err != nil {
				t.Fatal(err)
			}
			if got.Verdict != result.Error || len(got.Failures) != 1 || got.Failures[0].Turn != tc.turn ||
				!strings.Contains(got.Failures[0].Message, "boom") {
				t.Errorf("%s, failures %v", got.Verdict, got.Failures)
			}
			if graded != 2 || len(got.Turns) != 2 {
				t.Errorf("%d others were graded in %d turns, want 2 in 2", graded, len(got.Turns))
			}
		})
	}
}

// A judge reads what the tools of each reply returned, in a turn and in the whole; the record has it in its turns.
func TestJudgeSeesResultsOfTools(t *testing.T) {
	a := &agent{answer: func(turn int, _ []chat.Message) (chat.Reply, error) {
		return chat.Reply{Text: "done", ToolCalls: []chat.ToolCall{{
			Name: "price", Args: json.RawMessage("{}"), Result: json.RawMessage(strconv.Itoa(turn)),
		}}}, nil
	}}
	results := func(calls []chat.ToolCall) (all []string) {
		for _, c := range calls {
			all = append(all, string(c.Result))
		}
		return all
	}
	var got [][]string
	judge := denying()
	answer := judge.answer
	judge.answer = func(q grader.Question) (grader.Verdict, error) {
		var earlier []string
		for _, m := range q.Input {
			earlier = append(earlier, results(m.ToolCalls)...)
		}
		got = append(got, results(q.ToolCalls), earlier)
		return answer(q)
	}
	record := hold(t, "id: t\nmode: conversation\nturns: [{input: a, assertions: [good]}, "+
		"{input: b, assertions: [good]}]\nassertions: [good]", a, judge)
	want := [][]string{{"1"}, nil, {"2"}, {"1"}, {"1", "2"}, {"1", "2"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(record.Output) != 4 || len(record.Output[1].ToolCalls[0].Result) > 0 {
		t.Errorf("output %+v", record.Output)
	}
}
