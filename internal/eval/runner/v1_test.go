package runner_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/eval/grader"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// holdV1 holds the only test of a v1 suite, given from its turns on.
func holdV1(t *testing.T, test string, a *agent, j grader.Judge) *result.Test {
	t.Helper()
	path := filepath.Join(t.TempDir(), "suite.yaml")
	text := "version: v1\ntests:\n- test_id: t\n  seed: 42\n  " +
		strings.ReplaceAll(strings.TrimSpace(test), "\n", "\n  ") + "\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
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
		got, err := runner.Run(t.Context(), runner.Conversation{
			Test: test, Target: a, Grading: grader.New(grader.Config{Judge: j}),
		})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	return nil
}

// flow is an agent that answers every turn in the same way, with a tool call and the state of a flow.
func flow() *agent {
	return &agent{answer: func(int, []chat.Message) (chat.Reply, error) {
		return chat.Reply{
			Text: "Welcome to Café Oslo", ToolCalls: []chat.ToolCall{{
				Name: "process_node", Args: json.RawMessage(`{"current_node_id":"start","option_id":-1}`),
			}},
			Node: "menu", State: json.RawMessage(`{"next_node_id":"menu","flow_completed":false,
				"next_node_descriptor":{"id":"menu","prompt":"Offer the menu.","options":[{"id":"tea","label":"Tea"}]},
				"memory":{"turn_index":1,"facts":[{"key":"city","value":"Oslo"}]},"memory_delta":{"facts_added":[{"key":"city","value":"Oslo"}]}}`),
		}, nil
	}}
}

// scoring is a judge of criteria that gives every criterion the same score.
func scoring(score float64) *panel {
	return &panel{answer: func(q grader.Question) (grader.Verdict, error) {
		v := grader.Verdict{Scores: map[string]float64{}, Use: result.JudgeUse{Calls: 1}}
		for _, name := range q.Names {
			v.Scores[name] = score
		}
		return v, nil
	}}
}

const passingV1 = `
turns:
- turn_id: t1
  user_input: Hello
  expected:
    tool_call: {name: process_node, args.partial: {current_node_id: start}}
    next_node_id: menu
    assistant_contains: [WELCOME, "Cafe\u0301"]
    assistant_not_contains: [sorry]
    assistant_matches: '^W\w+'
    assistant_similar: {text: welcome to oslo, min: 0.5, method: lexical}
    facts_add: [{key: city, value: oslo}]
    node_descriptor.options_contains: [{id: tea}]
    judge_criteria: {assistant_quality_min: 0.7}
- user_input: Bye
final_assertions: {flow_completed: false, forbidden_facts: [price], judge_criteria: {tone_min: 0.7}, tool_calls: {match: superset, calls: [process_node]}}
`

func TestV1Passes(t *testing.T) {
	j := scoring(0.7)
	got := holdV1(t, passingV1, flow(), j)
	if got.Verdict != result.Pass || got.Score != 1 || len(got.Failures) > 0 {
		t.Errorf("got %s %v, failures %v", got.Verdict, got.Score, got.Failures)
	}
	if diff := cmp.Diff([]string{"turn-1 pass 1", "turn-2 pass 1", "assertions pass 1"}, brief(got)); diff != "" {
		t.Errorf("scores (-want +got):\n%s", diff)
	}
	if s := got.Sampling; s == nil || *s.Temperature != 0 || *s.TopP != 1 || *s.Seed != 42 {
		t.Errorf("sampling = %+v", s)
	}
	if got.Turns[0].TurnID != "t1" || got.Turns[1].TurnID != "" {
		t.Errorf("turn ids %q and %q", got.Turns[0].TurnID, got.Turns[1].TurnID)
	}
	if want := "node prompt: Offer the menu.\nfact: city = Oslo\nuser: Hello"; len(j.asked) != 2 ||
		j.asked[0].Context != want {
		t.Errorf("questions %+v", j.asked)
	}
}

// Every expectation that fails has its code, its source and its sentence, in the order of the codes; one alone fails
// the turn.
func TestV1Codes(t *testing.T) {
	for _, tc := range []struct {
		expected, code, source, says string
	}{
		{"next_node_id: end", "NODE_MISMATCH", "structured", `next_node_id: wanted: the flow at "end"; got: "menu"`},
		{
			"next_node_id: null", "NODE_MISMATCH", "structured",
			`next_node_id: wanted: the flow at no node, having ended; got: "menu"`,
		},
		{
			"node_descriptor.options_contains: [{id: pie}]", "NODE_MISMATCH", "structured",
			`node_descriptor.options_contains: wanted: options {"id":"pie"}`,
		},
		{
			"tool_call: {name: book}", "TOOL_ARGS_MISMATCH", "structured",
			"tool_call: wanted: first tool call book; got: process_node",
		},
		{
			"tool_call: {name: process_node, args: {option_id: '-1'}}", "TOOL_ARGS_MISMATCH", "structured",
			`{"option_id":"-1"}`,
		},
		{
			"tool_sequence: []", "TOOL_ARGS_MISMATCH", "structured",
			"tool_sequence: wanted: no tool call; got: process_node",
		},
		{"tool_calls: {calls: [a]}", "TOOL_ARGS_MISMATCH", "structured", "call 1 is process_node"},
		{"assistant_contains: [cake, oslo]", "ASSISTANT_CONTENT", "structured", `got: no "cake" in`},
		{
			"assistant_not_contains: [cake, oslo]", "ASSISTANT_CONTENT", "structured",
			`assistant_not_contains: wanted: not: contains any of "cake", "oslo" in any case; got: found "oslo"`,
		},
		{
			"assistant_matches: [Oslo, '^oslo']", "ASSISTANT_CONTENT", "structured",
			`wanted: matches "^oslo"; got: no match`,
		},
		{
			"assistant_similar: {text: cake and tea, method: lexical}", "ASSISTANT_CONTENT", "structured",
			"lexical similarity of at least 0.8",
		},
		{
			"facts_add: [{key: city, value: Rome}]", "FACT_DRIFT", "memory",
			`facts_add: wanted: facts added: city = "Rome"; got: no city = "Rome": city = "Oslo"`,
		},
		{"facts_update: [{key: city, value: Oslo}]", "FACT_DRIFT", "memory", "no fact updated"},
		{
			"judge_criteria: {tone_min: 0.8}", "QUALITY_JUDGE_FAIL", "judge",
			"judge_criteria: tone scored 0.70, needs 0.80",
		},
	} {
		got := holdV1(t, "turns:\n- user_input: Hello\n  expected: {"+tc.expected+"}\n- user_input: Bye", flow(),
			scoring(0.7))
		if len(got.Failures) != 1 || got.Verdict != result.Fail || got.ExecutionStatus != result.QualityFailure ||
			got.Score != 0 || got.Scores[1].Verdict != result.Pass {
			t.Errorf("%s: %s %v, failures %v", tc.expected, got.Verdict, got.Score, got.Failures)
			continue
		}
		f := got.Failures[0]
		if string(f.Code) != tc.code || f.Source != tc.source || f.Turn != 1 || !strings.Contains(f.Message, tc.says) {
			t.Errorf("%s: %+v, want %s by %s saying %q", tc.expected, f, tc.code, tc.source, tc.says)
		}
	}
}

func TestV1FinalCodes(t *testing.T) {
	got := holdV1(t, `
turns: [{user_input: Hello}, {user_input: Bye}]
final_assertions:
  judge_criteria: {tone_min: 0.8}
  forbidden_facts: [{key: city, value: oslo}]
  facts_add: [name]
  assistant_contains: cake
  tool_sequence: [process_node]
  flow_completed: true
  next_node_id: end
`, flow(), scoring(0.7))
	var codes []string
	for _, f := range got.Failures {
		codes = append(codes, string(f.Code)+" by "+f.Source)
		if f.Turn != 0 || !strings.Contains(f.Message, ": ") {
			t.Errorf("failure %+v", f)
		}
	}
	want := []string{
		"NODE_MISMATCH by structured", "NODE_MISMATCH by structured", "TOOL_ARGS_MISMATCH by structured",
		"ASSISTANT_CONTENT by structured", "FACT_DRIFT by memory", "FACT_DRIFT by memory",
		"QUALITY_JUDGE_FAIL by judge",
	}
	if diff := cmp.Diff(want, codes); diff != "" {
		t.Errorf("codes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"turn-1 pass 1", "turn-2 pass 1", "assertions fail 0"}, brief(got)); diff != "" {
		t.Errorf("scores (-want +got):\n%s", diff)
	}
}

// TestV1WithoutFlow checks that an agent without a flow fails what is asked of one, and that its facts are undecided:
// nothing shows them.
func TestV1WithoutFlow(t *testing.T) {
	got := holdV1(t, "turns: [{user_input: Hello, expected: {next_node_id: a, facts_add: [b]}}]\nfinal_assertions: "+
		"{flow_completed: true, forbidden_facts: [c]}", echo(), nil)
	if got.Verdict != result.Error || len(got.Failures) != 4 {
		t.Fatalf("got %s, failures %v", got.Verdict, got.Failures)
	}
	for _, f := range got.Failures {
		if !strings.Contains(f.Message, "the agent shows no flow state") {
			t.Errorf("failure %+v", f)
		}
	}
}

// Judge criteria are asked although a check by code has failed (X25), in both dialects; other judges are then spared.
func TestJudgeCriteriaAreAlwaysAsked(t *testing.T) {
	j := scoring(0.2)
	got := holdV1(t,
		"turns: [{user_input: Hello, expected: {assistant_contains: cake, judge_criteria: {tone_min: 0.5}}}]",
		flow(), j)
	if len(j.asked) != 1 || len(got.Failures) != 2 || got.Failures[1].Code != result.QualityJudgeFail {
		t.Errorf("%d questions, failures %v", len(j.asked), got.Failures)
	}
	j = scoring(0.9)
	got = hold(t, "id: x\ninput: a\nexecution: {short_circuit: true}\nassertions: [polite, {type: contains, value: "+
		"zebra}, {type: judge_criteria, criteria: {tone: 0.5}}]", echo(), j)
	if len(j.asked) != 1 || j.asked[0].Mode != grader.Criteria || got.Judge.Calls != 1 {
		t.Errorf("questions %+v", j.asked)
	}
}

func TestV1StopOnFailure(t *testing.T) {
	const turns = "turns: [{user_input: a, expected: {assistant_contains: x}}, {user_input: b}]\nfinal_assertions: " +
		"{assistant_contains: answer}"
	if got := holdV1(t, turns, echo(), nil); len(got.Turns) != 2 || got.Scores[1].Verdict != result.Pass {
		t.Errorf("a failed turn ended the conversation: %v", brief(got))
	}
	got := holdV1(t, "stop_on_failure: true\n"+turns, echo(), nil)
	if diff := cmp.Diff([]string{"turn-1 fail 0", "turn-2 skip 0", "assertions pass 1"}, brief(got)); diff != "" ||
		!got.Scores[2].PartialTranscript {
		t.Errorf("scores (-want +got):\n%s", diff)
	}
}

func TestV1EngineError(t *testing.T) {
	broken := &agent{answer: func(turn int, _ []chat.Message) (chat.Reply, error) {
		if turn == 2 {
			return chat.Reply{}, errors.New("status 500")
		}
		return chat.Reply{Text: "x"}, nil
	}}
	got := holdV1(t,
		"turns: [{user_input: a}, {user_input: b}, {user_input: c}]\nfinal_assertions: {assistant_contains: x}",
		broken, nil)
	want := result.Failure{Code: result.EngineError, Source: "transport", Turn: 2, Message: "status 500"}
	if got.ExecutionStatus != result.ExecutionError || len(got.Failures) != 1 || got.Failures[0] != want {
		t.Errorf("got %s, failures %v", got.ExecutionStatus, got.Failures)
	}
}
