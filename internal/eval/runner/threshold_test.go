package runner_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// TestScoresExplainThemselves holds that a test that fails says why: the code, the source and the sentence of each
// failure.
func TestScoresExplainThemselves(t *testing.T) {
	const good = "{type: contains, value: answer}, {type: contains, value: a}, {type: contains, value: n}, {type: " +
		"contains, value: s}, {type: contains, value: w}"
	const needed = "{type: rubrics, criteria: [polite, {id: b, outcome: names no price, required: true}, {id: c, " +
		"outcome: short}]}"
	const lost = `QUALITY_JUDGE_FAIL judge 1 wanted every criterion satisfied; got no for the required "names no price"`
	for _, tc := range []struct {
		name, yaml string
		denied     []string
		verdict    result.Verdict
		score      float64
		failures   []string
	}{
		{
			"a failed required criterion makes the turn 0, whatever stands beside it",
			"id: x\nmode: conversation\nturns:\n- {input: a, assertions: [" + good + ", " + needed + "]}",
			[]string{"names no price"},
			result.Fail, 0,
			[]string{lost},
		},
		{
			"also where its grader has a threshold of 0 and no weight",
			"id: x\nmode: conversation\nturns:\n- {input: a, assertions: [" + good + ", {type: rubrics, threshold: " +
				"0, weight: 0, criteria: [{id: b, outcome: names no price, required: true}]}]}",
			[]string{"names no price"},
			result.Fail, 0,
			[]string{lost},
		},
		{
			"a criterion that is not required only lowers the score",
			"id: x\nmode: conversation\nturns:\n- {input: a, assertions: [" + good + ", " + needed + "]}",
			[]string{"short"},
			result.Pass, (5 + 2.0/3) / 6,
			nil,
		},
		{
			"at conversation level it makes the item assertions 0",
			"id: x\nmode: conversation\nturns:\n- {input: a}\nassertions: [" + good + ", " + needed + "]",
			[]string{"names no price"},
			result.Fail, 0.5,
			[]string{
				`QUALITY_JUDGE_FAIL judge 0 wanted every criterion satisfied; got no for the required "names no price"`,
			},
		},
		{
			"inside a composite it makes the composite 0, and is listed with its text",
			"id: x\nmode: conversation\nturns:\n- {input: a, assertions: [{type: composite, mode: any, assertions: " +
				"[{type: contains, value: zebra}, {type: contains, value: answer}, " + needed + "]}]}",
			[]string{"names no price"},
			result.Fail, 0,
			[]string{
				"ASSISTANT_CONTENT structured 1 wanted: one of 3 checks to score at least 0.8; got: " +
					"0 because contains, rubrics failed",
				lost,
			},
		},
		{
			"a composite that it made 0 is weighed like any other check",
			"id: x\nmode: conversation\nturns:\n- {input: a, assertions: [" + good +
				", {type: composite, assertions: [" + needed + "]}]}",
			[]string{"names no price"},
			result.Pass, 5.0 / 6,
			nil,
		},
		{
			"a negated rubric wants the criteria missed",
			"id: x\nmode: conversation\nturns:\n- {input: a, assertions: [{type: not_rubrics, criteria: [{id: b, " +
				"outcome: names no price, required: true}]}]}",
			[]string{"names no price"},
			result.Pass, 1,
			nil,
		},
		{
			"every check passes by its own mark, but the turn does not",
			"id: x\nmode: conversation\naggregation: min\nturns:\n- {input: a, assertions: " +
				"[{type: rouge, value: answer 1 two three}]}\n- {input: b}",
			nil, result.Fail, 2.0 / 3, []string{
				"ASSISTANT_CONTENT threshold 1 turn scored 0.67, needs 0.80; every check passed its own threshold",
			},
		},
		{
			"the code is that of the lowest grader",
			"id: x\nmode: conversation\nturns:\n- {input: a, assertions: [{type: rouge, value: answer 1}, {type: " +
				"rubrics, threshold: 0.3, criteria: [no, short]}]}",
			[]string{"no"},
			result.Fail, 0.75,
			[]string{
				"QUALITY_JUDGE_FAIL threshold 1 turn scored 0.75, needs 0.80; every check passed its own threshold",
			},
		},
		{
			"the conversation's own assertions say so, too",
			"id: x\nmode: conversation\naggregation: min\nturns:\n- {input: a}\n" +
				"assertions: [{type: levenshtein, threshold: 0.2, value: answer of}]",
			nil, result.Fail, 7.0 / 9, []string{"ASSISTANT_CONTENT threshold 0 conversation scored 0.78, needs 0.80; " +
				"every check passed its own threshold"},
		},
		{
			"where a check fails, that is the reason",
			"id: x\nmode: conversation\nturns:\n- {input: a, assertions: [{type: rouge, " +
				"value: answer 1 two three}, {type: icontains, value: zebra}]}",
			nil, result.Fail, 1.0 / 3, []string{
				`ASSISTANT_CONTENT structured 1 wanted: contains "zebra" in any case; got: no "zebra" in "answer 1"`,
			},
		},
		{
			"two digits that would be the same become more",
			"id: x\nmode: conversation\nexecution: {threshold: 0.4001}\nturns:\n- {input: a, assertions: " +
				"[{type: rouge, threshold: 0.1, value: answer one two}]}",
			nil, result.Fail, 0.4, []string{
				"ASSISTANT_CONTENT threshold 1 turn scored 0.4000, needs 0.4001; every check passed its own threshold",
			},
		},
		{
			"one failing check of six passes",
			"id: x\ninput: a\nexecution: {threshold: 0.8}\nassertions: [" + good + ", {type: contains, value: zebra}]",
			nil, result.Pass, 5.0 / 6, nil,
		},
		{
			"unless all must pass",
			"id: x\ninput: a\nexecution: {threshold: 0.8, all_must_pass: true}\nassertions: [" +
				good + ", {type: contains, value: zebra}]", nil, result.Fail, 5.0 / 6,
			[]string{`ASSISTANT_CONTENT structured 1 wanted: contains "zebra"; got: no "zebra" in "answer 1"`},
		},
		{
			"where all must pass, a good turn does not make up for another",
			"id: x\nmode: conversation\naggregation: max\nexecution: {threshold: 0.8, all_must_pass: true}\nturns:\n" +
				"- {input: a, assertions: [" + good + ", {type: contains, value: zebra}]}\n- {input: b}",
			nil, result.Fail, 1,
			[]string{`ASSISTANT_CONTENT structured 1 wanted: contains "zebra"; got: no "zebra" in "answer 1"`},
		},
		{
			"where all must pass and all do",
			"id: x\nmode: conversation\nexecution: {threshold: 0.8, all_must_pass: true}\n" +
				"turns:\n- {input: a, assertions: [" + good + "]}\n- {input: b}",
			nil, result.Pass, 1, nil,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := hold(t, tc.yaml, echo(), denying(tc.denied...))
			if got.Verdict != tc.verdict || math.Abs(got.Score-tc.score) > 1e-9 {
				t.Errorf("%s with %v, want %s with %v", got.Verdict, got.Score, tc.verdict, tc.score)
			}
			var failures []string
			for _, f := range got.Failures {
				failures = append(failures, fmt.Sprintf("%s %s %d %s", f.Code, f.Source, f.Turn, f.Message))
			}
			if diff := cmp.Diff(tc.failures, failures); diff != "" {
				t.Errorf("failures mismatch (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFinishReason holds that the record says why the model stopped, and that it can be graded.
func TestFinishReason(t *testing.T) {
	a := &agent{answer: func(turn int, _ []chat.Message) (chat.Reply, error) {
		return chat.Reply{Text: "Once upon a", FinishReason: []string{"stop", "length"}[turn-1]}, nil
	}}
	got := hold(t, "id: x\nmode: conversation\nturns:\n- {input: a, assertions: [{type: expression, value: "+
		"'finish_reason == \"stop\"'}]}\n"+
		"- {input: b, assertions: [{type: expression, value: 'finish_reason != \"length\"'}]}\n"+
		"assertions: [{type: expression, value: 'finish_reason == \"length\"'}]", a, nil)
	if got.Turns[0].FinishReason != "stop" || got.Turns[1].FinishReason != "length" {
		t.Errorf("turns = %+v", got.Turns)
	}
	if diff := cmp.Diff([]string{"turn-1 pass 1", "turn-2 fail 0", "assertions pass 1"}, brief(got)); diff != "" {
		t.Errorf("scores mismatch (-want +got):\n%s", diff)
	}
}
