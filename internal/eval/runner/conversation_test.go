package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/trace"
	"github.com/rehearse-dev/rehearse/internal/eval/grader"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
	"github.com/rehearse-dev/rehearse/internal/testkit/golden"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// agent is a target that answers by a function of the history and remembers what it was sent.
type agent struct {
	answer func(turn int, history []chat.Message) (chat.Reply, error)
	mu     sync.Mutex
	seen   [][]chat.Message
}

func (a *agent) Open(_ context.Context, o runner.Opening) (runner.Session, error) {
	return &session{agent: a, history: o.Test.Input}, nil
}

type session struct {
	*agent
	history []chat.Message
	turn    int
}

func (s *session) Send(_ context.Context, m chat.Content) (chat.Reply, error) {
	s.turn++
	history := append(slices.Clip(s.history), chat.Message{Role: chat.User, Content: m})
	s.mu.Lock()
	s.seen = append(s.seen, history)
	s.mu.Unlock()
	reply, err := s.answer(s.turn, history)
	if err == nil {
		s.history = append(history, reply.Message())
	}
	return reply, err
}

func (s *session) Close() error { return nil }

// echo answers every turn with "answer N".
func echo() *agent {
	return &agent{answer: func(turn int, _ []chat.Message) (chat.Reply, error) {
		return chat.Reply{Text: fmt.Sprintf("answer %d", turn), Usage: chat.Usage{
			InputTokens: 10, OutputTokens: 2,
		}, Cost: chat.Cost{USD: 0.01}, Latency: 5 * time.Millisecond}, nil
	}}
}

// panel is a judge that answers by a function and remembers the questions.
type panel struct {
	answer func(grader.Question) (grader.Verdict, error)
	mu     sync.Mutex
	asked  []grader.Question
}

func (p *panel) Decide(_ context.Context, q grader.Question) (grader.Verdict, error) {
	p.mu.Lock()
	p.asked = append(p.asked, q)
	p.mu.Unlock()
	return p.answer(q)
}

// denying finds every criterion satisfied except those with one of the given texts; free questions score 1.
func denying(outcomes ...string) *panel {
	return &panel{answer: func(q grader.Question) (grader.Verdict, error) {
		v := grader.Verdict{Score: 1, Checks: map[string]grader.RubricCheck{}, Use: result.JudgeUse{Calls: 1}}
		for _, r := range q.Rubrics {
			v.Checks[r.ID] = grader.RubricCheck{Satisfied: true}
			for _, no := range outcomes {
				if r.Outcome == no {
					v.Checks[r.ID] = grader.RubricCheck{Reasoning: "it is not there"}
				}
			}
		}
		return v, nil
	}}
}

func loadOne(t *testing.T, yaml string) *suite.Test {
	t.Helper()
	path := filepath.Join(t.TempDir(), "suite.yaml")
	if err := os.WriteFile(path, []byte("tests:\n- "+strings.ReplaceAll(strings.TrimSpace(yaml), "\n", "\n  ")+"\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	s, err := suite.Load(path, suite.Options{Kinds: grader.New(grader.Config{})})
	if err != nil {
		t.Fatal(err)
	}
	for test, err := range s.Tests() {
		if err != nil {
			t.Fatal(err)
		}
		return test
	}
	return nil
}

func hold(t *testing.T, yaml string, a *agent, j grader.Judge) *result.Test {
	t.Helper()
	got, err := runner.Run(t.Context(), runner.Conversation{
		Test: loadOne(t, yaml), Target: a, Grading: grader.New(grader.Config{Judge: j}),
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// brief writes scores as "name verdict score" for comparison.
func brief(r *result.Test) []string {
	var out []string
	for _, s := range r.Scores {
		out = append(out, fmt.Sprintf("%s %s %.4g", s.Name, s.Verdict, s.Score))
	}
	return out
}

// TestSample is the sample result of S2 as a golden test. The seed prints 0.88 for the whole, which no rule gives;
// the mean of the five items is 0.8167 (X10).
func TestSample(t *testing.T) {
	const travel = `
id: travel-planning
mode: conversation
input: [{role: system, content: You are a travel planning assistant.}]
turns:
- {input: a, expected_output: Kyoto and the Alps, assertions: [Recommends specific regions, Acknowledges spring timing]}
- {input: b, expected_output: Koyasan, assertions: [Shifts to rural areas, Does not lead with cities, Builds on the previous turn]}
- {input: c, assertions: [Advice within budget, Accounts for preferences, No luxury]}
- {input: d, assertions: [Covers 14 days, Emphasises culture, Feasible, Includes locations from earlier turns]}
assertions: [Remembers everything, Never contradicts itself, Each turn builds on the prior one]`
	got := hold(t, travel, echo(), denying("Builds on the previous turn", "Includes locations from earlier turns",
		"Each turn builds on the prior one"))
	if diff := cmp.Diff([]string{
		"turn-1 pass 1", "turn-2 fail 0.6667", "turn-3 pass 1", "turn-4 fail 0.75", "assertions fail 0.6667",
	}, brief(got)); diff != "" {
		t.Errorf("scores mismatch (-want +got):\n%s", diff)
	}
	if math.Abs(got.Score-49.0/60) > 1e-12 || got.ExecutionStatus != result.OK || got.Verdict != result.Pass {
		t.Errorf("score = %v %v %v, want 0.8167 ok pass", got.Score, got.ExecutionStatus, got.Verdict)
	}
	for i := range got.Turns {
		if got.Turns[i].TraceID != trace.ID(got.ConversationID) {
			t.Errorf("turn %d has the trace %s", i+1, got.Turns[i].TraceID)
		}
		got.Turns[i].TraceID = ""
	}
	compare(t, "sample.json", got)
}

// compare compares a record with a file; times and ids are left out.
func compare(t *testing.T, name string, r *result.Test) {
	t.Helper()
	r.StartedAt, r.DurationMS, r.Suite, r.ConversationID = time.Time{}, 0, "travel", ""
	got, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, name, string(got)+"\n")
}

func TestActualRepliesAreCarriedForward(t *testing.T) {
	a := echo()
	got := hold(t, `
id: x
mode: conversation
input: [{role: system, content: S}]
window_size: 1
turns:
- {input: one, expected_output: never sent}
- {input: two}
- {input: three}`, a, denying())
	var last []string
	for _, m := range a.seen[2] {
		last = append(last, string(m.Role)+" "+m.Content.Text)
	}
	want := []string{"system S", "user one", "assistant answer 1", "user two", "assistant answer 2", "user three"}
	if diff := cmp.Diff(want, last); diff != "" {
		t.Errorf("the third request, which no window may cut (-want +got):\n%s", diff)
	}
	var said []string
	for _, m := range got.Output {
		said = append(said, string(m.Role)+" "+m.Content.Text)
	}
	if diff := cmp.Diff(append(want[1:], "assistant answer 3"), said); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
	if got.Usage.InputTokens != 30 || math.Abs(got.Cost.USD-0.03) > 1e-12 || got.Turns[1].LatencyMS != 5 ||
		got.Turns[1].Usage.OutputTokens != 2 {
		t.Errorf("cost, usage or latency of turns is lost: %+v", got)
	}
}

func TestWhatGradersSee(t *testing.T) {
	j := denying()
	hold(t, `
id: x
mode: conversation
criteria: be good
window_size: 2
input: [{role: system, content: S}, {role: user, content: before}, {role: assistant, content: earlier}]
turns:
- {input: one, assertions: [c1]}
- {input: two, expected_output: reference, assertions: [c2]}
- {input: three, assertions: [c3]}
assertions: [whole]`, echo(), j)
	var got []string
	for _, q := range j.asked {
		var said []string
		for _, m := range q.Input {
			said = append(said, m.Content.Text)
		}
		got = append(got, fmt.Sprintf("%s | %s | %s | %s", strings.Join(said, ","), q.Output, q.Expected, q.Criteria))
	}
	want := []string{
		"S,before,earlier,one | answer 1 |  | be good",
		"S,one,answer 1,two | answer 2 | reference | be good", // the criteria's call sees the reference
		"S,two,answer 2,three | answer 3 |  | be good",
		"S,before,earlier,one,answer 1,two,answer 2,three,answer 3 | answer 3 |  | be good",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("questions mismatch (-want +got):\n%s", diff)
	}
}

func TestScoring(t *testing.T) {
	for _, tc := range []struct {
		name, yaml string
		denied     []string
		scores     []string
		score      float64
		asked      int
	}{
		{
			"a turn with nothing to grade scores 1 and asks nobody",
			"id: x\nmode: conversation\nturns: [{input: a}, {input: b, assertions: [no]}]",
			[]string{"no"},
			[]string{"turn-1 pass 1", "turn-2 fail 0"},
			0.5, 1,
		},
		{
			"min is the weakest link",
			"id: x\nmode: conversation\naggregation: min\nturns: [{input: a, assertions: [yes, no]}, {input: b}]",
			[]string{"no"},
			[]string{"turn-1 fail 0.5", "turn-2 pass 1"},
			0.5, 1,
		},
		{
			"max", "id: x\nmode: conversation\naggregation: max\nturns: [{input: a, assertions: [no]}, {input: b}]",
			[]string{"no"},
			[]string{"turn-1 fail 0", "turn-2 pass 1"},
			1, 1,
		},
		{
			"stop skips the rest, which scores 0; the whole is still graded",
			"id: x\nmode: conversation\non_turn_failure: stop\nturns: [{input: a}, {input: b, assertions: [no]}, " +
				"{input: c, assertions: [yes]}]\nassertions: [whole]",
			[]string{"no"},
			[]string{"turn-1 pass 1", "turn-2 fail 0", "turn-3 skip 0", "assertions pass 1"},
			0.5, 2,
		},
		{
			"continue runs everything",
			"id: x\nmode: conversation\nturns: [{input: a, assertions: [no]}, {input: b, assertions: [yes]}]",
			[]string{"no"},
			[]string{"turn-1 fail 0", "turn-2 pass 1"},
			0.5, 2,
		},
		{
			"criteria is judged only without any assertion",
			"id: x\nmode: conversation\ncriteria: good\nturns: [{input: a}, {input: b}]", nil,
			[]string{"turn-1 pass 1", "turn-2 pass 1", "assertions pass 1"},
			1, 1,
		},
		{
			"criteria is not judged next to an assertion",
			"id: x\nmode: conversation\ncriteria: good\n" +
				"turns: [{input: a, assertions: [{type: contains, value: answer}]}]",
			nil, []string{"turn-1 pass 1"}, 1, 0,
		},
		{
			"strings and structured graders mix; the strings are one grader",
			"id: x\nmode: conversation\nturns:\n- input: a\n  assertions: [yes, {type: contains, value: answer, " +
				"weight: 2}, no]",
			[]string{"no"},
			[]string{"turn-1 pass 0.8333"},
			5.0 / 6, 1,
		},
		{
			"a failed required criterion makes its grader 0",
			"id: x\nmode: conversation\nturns:\n- input: a\n  assertions: [{type: rubrics, criteria: [{id: a, " +
				"outcome: yes, weight: 3}, {id: b, outcome: no, required: true}]}]",
			[]string{"no"},
			[]string{"turn-1 fail 0"},
			0, 1,
		},
		{
			"a failed required grader makes the turn 0",
			"id: x\nmode: conversation\nturns:\n- input: a\n  assertions: [{type: contains, value: zebra, " +
				"required: true, weight: 0.01}, {type: contains, value: answer}]",
			nil, []string{"turn-1 fail 0"}, 0, 0,
		},
		{
			"a grader that needs less than the threshold",
			"id: x\nmode: conversation\nturns:\n- input: a\n  assertions: [{type: rubrics, required: 0.5, criteria: " +
				"[yes, no]}, {type: contains, value: answer, weight: 9}]",
			[]string{"no"},
			[]string{"turn-1 pass 0.95"},
			0.95, 1,
		},
		{
			"negate and not_ undo each other",
			"id: x\nmode: conversation\nturns:\n- input: a\n  assertions: [{type: not_contains, value: " +
				"answer, negate: true}, {type: not-contains, value: zebra}]",
			nil, []string{"turn-1 pass 1"}, 1, 0,
		},
		{
			"min_score counts a lower score as nothing",
			"id: x\nmode: conversation\nturns:\n- input: a\n  assertions: [{type: rubrics, min_score: 0.6, criteria: " +
				"[yes, no]}]",
			[]string{"no"},
			[]string{"turn-1 fail 0"},
			0, 1,
		},
		{
			"an expected output is judged by itself where no assertion asks a judge",
			"id: x\nmode: conversation\nturns: [{input: a, expected_output: r}, {input: b, " +
				"expected_output: r, assertions: [{type: contains, value: zebra}]}]",
			nil, []string{"turn-1 pass 1", "turn-2 fail 0.5"}, 0.75, 2,
		},
		{
			"single turn with criteria and no assertion",
			"id: x\ninput: a\ncriteria: good\nexpected_output: r", nil,
			[]string{"turn-1 pass 1"},
			1, 1,
		},
		{
			"single turn with criteria alone",
			"id: x\ninput: a\ncriteria: good", nil,
			[]string{"turn-1 pass 1"},
			1, 1,
		},
		{
			"single turn whose expected output stands beside another assertion is judged, too",
			"id: x\ninput: a\nexpected_output: answer 1\nassertions: [{type: levenshtein}]", nil,
			[]string{"turn-1 pass 1"},
			1, 1,
		},
		{
			"conversation-level text graders see every reply",
			"id: x\nmode: conversation\nturns: [{input: a}, {input: b}]\nassertions: [{type: " +
				"contains, value: answer 1}, {type: contains, value: answer 2}]",
			nil, []string{"turn-1 pass 1", "turn-2 pass 1", "assertions pass 1"}, 1, 0,
		},
		{
			"short circuit spares the judge",
			"id: x\nmode: conversation\nexecution: {short_circuit: true}\nturns:\n" +
				"- input: a\n  assertions: [yes, {type: contains, value: zebra}]",
			nil, []string{"turn-1 fail 0"}, 0, 0,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			j := denying(tc.denied...)
			got := hold(t, tc.yaml, echo(), j)
			if diff := cmp.Diff(tc.scores, brief(got)); diff != "" {
				t.Errorf("scores mismatch (-want +got):\n%s", diff)
			}
			if math.Abs(got.Score-tc.score) > 1e-9 {
				t.Errorf("score = %v, want %v", got.Score, tc.score)
			}
			if len(j.asked) != tc.asked {
				t.Errorf("the judge was asked %d times, want %d", len(j.asked), tc.asked)
			}
		})
	}
}

func TestStopMarksPartialTranscript(t *testing.T) {
	got := hold(t, "id: x\nmode: conversation\non_turn_failure: stop\nturns: [{input: a, assertions: [no]}, {input: "+
		"b}]\nassertions: [whole]", echo(), denying("no"))
	if whole := got.Scores[2]; !whole.PartialTranscript || len(got.Turns) != 1 {
		t.Errorf("whole = %+v after %d turns, want a partial transcript after 1", whole, len(got.Turns))
	}
}

type unreachable struct{}

func (unreachable) Error() string { return "connection refused" }
func (unreachable) Tries() int    { return 3 }

func TestEngineErrorIsNoQualityScore(t *testing.T) {
	a := &agent{answer: func(turn int, _ []chat.Message) (chat.Reply, error) {
		if turn == 2 {
			return chat.Reply{}, unreachable{}
		}
		return chat.Reply{Text: "fine"}, nil
	}}
	j := denying()
	got := hold(t, "id: x\nmode: conversation\nturns: [{input: a, assertions: [yes]}, {input: b, assertions: [yes]}, "+
		"{input: c}]\nassertions: [whole]", a, j)
	if diff := cmp.Diff([]string{"turn-1 pass 1", "turn-2 error 0", "turn-3 skip 0", "assertions skip 0"},
		brief(got)); diff != "" {
		t.Errorf("scores mismatch (-want +got):\n%s", diff)
	}
	want := []result.Failure{{Code: result.EngineError, Source: "transport", Turn: 2, Message: "connection refused"}}
	if diff := cmp.Diff(want, got.Failures); diff != "" {
		t.Errorf("failures mismatch (-want +got):\n%s", diff)
	}
	if got.ExecutionStatus != result.ExecutionError || got.Verdict != result.Error || got.Turns[1].Attempts != 3 ||
		len(j.asked) != 1 {
		t.Errorf("got %+v after %d questions", got, len(j.asked))
	}
}

func TestJudgeThatCannotDecideIsNeverAPass(t *testing.T) {
	j := &panel{answer: func(grader.Question) (grader.Verdict, error) {
		return grader.Verdict{}, errors.New("garbage")
	}}
	got := hold(t, "id: x\nmode: conversation\naggregation: max\nturns: [{input: a, assertions: [yes]}, {input: b}]",
		echo(), j)
	if got.ExecutionStatus != result.ExecutionError || got.Failures[0].Code != result.JudgeError ||
		!strings.Contains(got.Failures[0].Message, "garbage") {
		t.Errorf("got %+v", got)
	}
}

func TestOmittedCriterionIsNoVerdict(t *testing.T) {
	j := &panel{answer: func(grader.Question) (grader.Verdict, error) {
		return grader.Verdict{Checks: map[string]grader.RubricCheck{"criterion-1": {Satisfied: true}}}, nil
	}}
	got := hold(t, "id: x\nmode: conversation\nturns: [{input: a, assertions: [one, two]}]", echo(), j)
	if got.ExecutionStatus != result.ExecutionError || got.Failures[0].Code != result.JudgeError {
		t.Errorf("got %+v", got)
	}
}

func TestJudgeOverlapsTheNextTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func() { time.Sleep(time.Second) }
		a := &agent{answer: func(int, []chat.Message) (chat.Reply, error) { slow(); return chat.Reply{Text: "x"}, nil }}
		j := &panel{answer: func(grader.Question) (grader.Verdict, error) {
			slow()
			return grader.Verdict{Score: 1}, nil
		}}
		started := time.Now()
		hold(t, "id: x\nmode: conversation\nturns: [{input: a, expected_output: r}, {input: b, expected_output: r}, "+
			"{input: c, expected_output: r}]", a, j)
		if took := time.Since(started); took != 4*time.Second {
			t.Errorf("three turns and their judging took %s, want 4s", took)
		}
	})
}

func TestInOrder(t *testing.T) {
	var calls []string // no lock: in order means one at a time, which the race detector would notice
	a := &agent{answer: func(turn int, _ []chat.Message) (chat.Reply, error) {
		calls = append(calls, fmt.Sprintf("agent %d", turn))
		return chat.Reply{Text: "x"}, nil
	}}
	j := &panel{answer: func(q grader.Question) (grader.Verdict, error) {
		calls = append(calls, fmt.Sprintf("judge %d", (len(q.Input)+1)/2))
		return grader.Verdict{}, nil
	}}
	_, err := runner.Run(t.Context(), runner.Conversation{
		Test: loadOne(t,
			"id: x\nmode: conversation\nturns: [{input: a, assertions: [c]}, {input: b, assertions: [c]}]"),
		Target: a, Grading: grader.New(grader.Config{Judge: j}), InOrder: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"agent 1", "judge 1", "agent 2", "judge 2"}, calls); diff != "" {
		t.Errorf("calls mismatch (-want +got):\n%s", diff)
	}
}

func TestConversationTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		test := loadOne(t,
			"id: x\nmode: conversation\nexecution: {conversation_timeout: 3}\nturns: [{input: a}, {input: b}]")
		got, err := runner.Run(t.Context(), runner.Conversation{
			Test: test, Target: sleeper(2 * time.Second), Grading: grader.New(grader.Config{}),
		})
		if err != nil || got.ExecutionStatus != result.ExecutionError || got.Failures[0].Code != result.Timeout ||
			got.Failures[0].Turn != 2 {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

func TestInterruptedConversationHasNoRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		test := loadOne(t, "id: x\ninput: a")
		got, err := runner.Run(ctx, runner.Conversation{
			Test: test, Target: sleeper(time.Minute), Grading: grader.New(grader.Config{}),
		})
		if got != nil || !errors.Is(err, runner.ErrInterrupted) {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

// sleeper is a target that takes its time for each turn.
type sleeper time.Duration

func (s sleeper) Open(context.Context, runner.Opening) (runner.Session, error) { return s, nil }
func (s sleeper) Close() error                                                 { return nil }
func (s sleeper) Send(ctx context.Context, _ chat.Content) (chat.Reply, error) {
	select {
	case <-ctx.Done():
		return chat.Reply{}, ctx.Err()
	case <-time.After(time.Duration(s)):
		return chat.Reply{Text: "x"}, nil
	}
}

// What a failed turn has used is recorded, and one turn without a report leaves the usage of the whole unknown.
func TestUsageOfTurns(t *testing.T) {
	used := chat.Reply{Usage: chat.Usage{InputTokens: 10, OutputTokens: 2}, Cost: chat.Cost{USD: 0.5}, Attempts: 3}
	for _, tc := range []struct {
		name    string
		replies []chat.Reply
		errs    []error
		verdict result.Verdict
		cost    float64
		tries   int
	}{
		{"all report", []chat.Reply{used, used}, []error{nil, nil}, result.Pass, 1, 3},
		{"one needs no model", []chat.Reply{used, {}}, []error{nil, nil}, result.Pass, 0.5, 1},
		{
			"one does not report", []chat.Reply{used, {Usage: chat.Usage{Unknown: true}}}, []error{nil, nil},
			result.Error, 0.5, 1,
		},
		{"the last one fails", []chat.Reply{used, used}, []error{nil, errors.New("down")}, result.Error, 1, 3},
	} {
		a := &agent{answer: func(turn int, _ []chat.Message) (chat.Reply, error) {
			return tc.replies[turn-1], tc.errs[turn-1]
		}}
		got := hold(t, "id: x\nmode: conversation\nturns: [{input: a}, {input: b}]\nassertions: [{type: token_usage, "+
			"max_total: 24}]", a, denying())
		if got.Verdict != tc.verdict || got.Cost.USD != tc.cost || got.Turns[1].Attempts != tc.tries {
			t.Errorf("%s: %s, $%g, %d attempts", tc.name, got.Verdict, got.Cost.USD, got.Turns[1].Attempts)
		}
	}
}

// unusable is the error of a model that answered, though not with a reply.
type unusable struct{ error }

func (unusable) Worked() bool { return true }

// What a model took for an answer that cannot be used is not known.
func TestUsageOfUnusableAnswer(t *testing.T) {
	for _, tc := range []struct {
		err     error
		unknown bool
	}{
		{fmt.Errorf("a turn: %w", unusable{errors.New("no choices")}), true},
		{errors.New("no connection"), false},
	} {
		a := &agent{answer: func(int, []chat.Message) (chat.Reply, error) { return chat.Reply{}, tc.err }}
		got := hold(t, "id: x\ninput: a\nassertions: [{type: contains, value: a}]", a, denying())
		if turn := got.Turns[0]; turn.Usage.Unknown != tc.unknown || turn.Cost.Unknown != tc.unknown ||
			got.Usage.Unknown != tc.unknown || got.Cost.Unknown != tc.unknown {
			t.Errorf("%v: turn %+v %+v, test %+v %+v", tc.err, turn.Usage, turn.Cost, got.Usage, got.Cost)
		}
	}
}

// named is a session that the agent knows by an id, and whose second reply ends the conversation.
type named struct{ *session }

func (named) ConversationID() string { return "" }
func (named) SessionID() string      { return "s-7" }

type namedAgent struct {
	*agent
	opened runner.Opening
}

func (a *namedAgent) Open(ctx context.Context, o runner.Opening) (runner.Session, error) {
	a.opened = o
	s, err := a.agent.Open(ctx, o)
	return named{s.(*session)}, err
}

// An agent that ends the conversation leaves the other turns unasked: they score 0.
func TestEndedByAgent(t *testing.T) {
	for _, stop := range []bool{false, true} {
		agent := &namedAgent{agent: &agent{answer: func(turn int, _ []chat.Message) (chat.Reply, error) {
			return chat.Reply{Text: "bye", Ended: turn == 2, FirstText: 3 * time.Millisecond, Requests: 2}, nil
		}}}
		test := &suite.Test{ID: "t", Conversation: true, StopOnFailure: stop, Turns: make([]suite.Turn, 4)}
		got, err := runner.Run(t.Context(), runner.Conversation{
			Test: test, Target: agent, Grading: grader.New(grader.Config{}),
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Turns) != 2 || !got.EndedByAgent || got.Score != 0.5 ||
			got.ExecutionStatus != result.QualityFailure || got.Scores[2].Verdict != result.Skip {
			t.Errorf("stop %v: %d turns, ended %v, score %v, %s, third turn %s", stop, len(got.Turns), got.EndedByAgent,
				got.Score, got.ExecutionStatus, got.Scores[2].Verdict)
		}
		if got.ConversationID == "" || got.ConversationID != agent.opened.ConversationID || got.SessionID != "s-7" {
			t.Errorf("ids %q and %q; opened as %q", got.ConversationID, got.SessionID, agent.opened.ConversationID)
		}
		if got.Turns[0].FirstTextMS != 3 || got.Turns[0].Requests != 2 {
			t.Errorf("first text after %v ms, %d requests", got.Turns[0].FirstTextMS, got.Turns[0].Requests)
		}
	}
}
