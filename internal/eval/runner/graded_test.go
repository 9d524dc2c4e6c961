package runner_test

import (
	"math"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// TestVerdictNeedsGradedScore checks that turns without checks raise the score and never the verdict.
func TestVerdictNeedsGradedScore(t *testing.T) {
	const free = "{input: a}, {input: b}, {input: c}"
	for _, tc := range []struct {
		name, yaml    string
		score, graded float64 // graded is negative where nothing is graded
		verdict       result.Verdict
	}{
		{
			"a failed conversation assertion beside free turns",
			"id: x\nmode: conversation\nturns: [" + free +
				", {input: d}]\nassertions: [{type: contains, value: zebra}]",
			0.8, 0, result.Fail,
		},
		{
			"the best of all turns",
			"id: x\nmode: conversation\naggregation: max\nturns: [" + free +
				", {input: d, assertions: [{type: contains, value: zebra}]}]",
			1, 0, result.Fail,
		},
		{
			"a skipped turn counts where it has checks",
			"id: x\nmode: conversation\non_turn_failure: stop\nturns: [{input: a, assertions: [{type: contains, " +
				"value: zebra}]}, {input: b}, " +
				"{input: c, assertions: [{type: contains, value: answer}]}]\nexecution: {threshold: 0.1}",
			0, 0, result.Fail,
		},
		{
			"free turns beside a check that passes",
			"id: x\nmode: conversation\nturns: [" + free + "]\nassertions: [{type: contains, value: answer 1}]", 1, 1,
			result.Pass,
		},
		{"no check at all", "id: x\nmode: conversation\nturns: [" + free + "]", 1, -1, result.Ungraded},
		{"no check in a single turn", "id: x\ninput: a", 1, -1, result.Ungraded},
		{"criteria grade", "id: x\ninput: a\ncriteria: polite", 1, 1, result.Pass},
	} {
		got := hold(t, tc.yaml, echo(), denying())
		graded := -1.0
		if got.GradedScore != nil {
			graded = *got.GradedScore
		}
		if math.Abs(got.Score-tc.score)+math.Abs(graded-tc.graded) > 1e-9 || got.Verdict != tc.verdict {
			t.Errorf("%s: score %v, graded %v, %s; want %v, %v, %s", tc.name, got.Score, graded, got.Verdict, tc.score,
				tc.graded, tc.verdict)
		}
	}
}

// TestStrictFailsForAnyCheck checks that a strict test fails for one failed check, a criterion of a list included, and
// that members that a composite does not need are no failed checks.
func TestStrictFailsForAnyCheck(t *testing.T) {
	const most = "{type: contains, value: answer}, {type: contains, value: a}, {type: contains, value: n}, {type: " +
		"contains, value: s}, {type: contains, value: zebra}"
	for _, tc := range []struct {
		name, assertions string
		lenient, strict  result.Verdict
		failed           int
	}{
		{"one of five", "[" + most + "]", result.Pass, result.Fail, 1},
		{"a criterion", "[c1, c2, c3, c4, c5]", result.Pass, result.Fail, 1},
		{"any member", "[{type: composite, mode: any, assertions: [" + most + "]}]", result.Pass, result.Pass, 0},
		{
			"a share of members", "[{type: composite, mode: threshold, threshold: 0.5, assertions: [" + most + "]}]",
			result.Pass, result.Pass, 0,
		},
		{"a weighted mean", "[{type: composite, assertions: [" + most + "]}]", result.Pass, result.Fail, 1},
		{"all pass", "[{type: contains, value: answer}]", result.Pass, result.Pass, 0},
	} {
		for strict, want := range map[string]result.Verdict{"false": tc.lenient, "true": tc.strict} {
			for _, key := range []string{"strict", "all_must_pass"} {
				got := hold(t, "id: x\ninput: a\nassertions: "+tc.assertions+"\nexecution: {"+key+": "+strict+"}",
					echo(), denying("c5"))
				if got.Verdict != want || got.FailedChecks().Failed != tc.failed {
					t.Errorf("%s, %s %s: %s with %d failed checks, want %s with %d", tc.name, key, strict, got.Verdict,
						got.FailedChecks().Failed, want, tc.failed)
				}
				if got.PassedWithFailures() != (want == result.Pass && tc.failed > 0) {
					t.Errorf("%s, %s %s: passed with failures %t", tc.name, key, strict, got.PassedWithFailures())
				}
			}
		}
	}
}
