package result_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

func TestTally(t *testing.T) {
	use := chat.Usage{InputTokens: 10, OutputTokens: 1}
	failures := func(codes ...result.Code) (out []result.Failure) {
		for _, c := range codes {
			out = append(out, result.Failure{Code: c})
		}
		return out
	}
	var y result.Tally
	for _, r := range []*result.Test{
		{TestID: "a", Verdict: result.Pass, Score: 1, Usage: use, Turns: make([]result.Turn, 2)},
		{
			TestID: "b", Verdict: result.Fail, Score: 0.5, Usage: use,
			Failures: failures(result.AssistantContent, result.Budget), Cost: chat.Cost{USD: 2},
		},
		{TestID: "c", Verdict: result.Error, Usage: use, Failures: failures(result.EngineError)},
		{TestID: "d", Verdict: result.Skip, Failures: failures(result.EngineError)},
		{TestID: "e", Trial: 1, Verdict: result.Fail, Score: 0, Usage: use, Failures: failures(result.Budget)},
		{TestID: "e", Trial: 2, Verdict: result.Pass, Score: 1, Usage: use},
		{
			TestID: "e", Trials: &result.Trials{}, Verdict: result.Pass, Score: 0.75, Usage: use.Add(use),
			Failures: failures(result.Flaky),
		},
	} {
		y.Add(r)
	}
	got := y.Totals()
	want := result.Totals{
		// two of five are unknown
		Tests: 5, Completed: 4, Passed: 2, Failed: 1, Errors: 1, Skipped: 1, Conversations: 5, Turns: 2,
		MeanScoreBounds: &[2]float64{0.45, 0.85}, Usage: chat.Usage{InputTokens: 50, OutputTokens: 5},
		Cost: chat.Cost{USD: 2}, Failures: map[result.Code]int{
			result.AssistantContent: 1, result.Budget: 1, result.EngineError: 1, result.Flaky: 1,
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Totals mismatch (-want +got):\n%s", diff)
	}
}

func TestSortFailures(t *testing.T) {
	fs := []result.Failure{
		{Code: result.Budget},
		{Code: result.Timeout, Turn: 2},
		{Code: result.NodeMismatch},
		{Code: result.Timeout, Turn: 1},
	}
	result.SortFailures(fs)
	want := []result.Failure{
		{Code: result.NodeMismatch},
		{Code: result.Timeout, Turn: 2},
		{Code: result.Timeout, Turn: 1},
		{Code: result.Budget},
	}
	if diff := cmp.Diff(want, fs); diff != "" {
		t.Errorf("SortFailures mismatch (-want +got):\n%s", diff)
	}
}

// An item that was not graded has no score, a run that goes on no exit code, and nothing graded no rate.
func TestUnknownIsNull(t *testing.T) {
	for _, tc := range []struct {
		value any
		want  string
	}{
		{result.Score{Name: "turn-1", Verdict: result.Error}, `"score":null`},
		{result.Score{Name: "turn-1", Verdict: result.Fail}, `"score":0,`},
		{result.Run{ExitReason: "running"}, `"exit_code":null`},
		{result.Run{}, `"pass_rate":null,"pass_rate_bounds":null,"pass_rate_interval":null`},
		{result.Totals{}, `"mean_score":null`},
		{result.Test{Cost: chat.Cost{Unknown: true}, Usage: chat.Usage{Unknown: true}}, `"usage":null,"cost_usd":null`},
	} {
		data, err := json.Marshal(tc.value)
		if err != nil || !strings.Contains(string(data), tc.want) {
			t.Errorf("%+v as JSON is %s, %v; want %s in it", tc.value, data, err, tc.want)
		}
	}
	if code := (&result.Run{}).Code(); code != result.ExitNotRun {
		t.Errorf("a run without an exit code has the code %d", code)
	}
}

// TestTallyTagsAndCodes checks that a test with many tags and many failures costs their sum and not their product.
func TestTallyTagsAndCodes(t *testing.T) {
	x := result.Test{Verdict: result.Fail}
	for i := range 10_000 {
		x.Tags = append(x.Tags, fmt.Sprint("tag", i))
		x.Failures = append(x.Failures, result.Failure{Code: result.Code(fmt.Sprint("CODE", i))})
	}
	var y result.Tally
	if n := testing.AllocsPerRun(1, func() { y.Add(&x) }); n > 1_000_000 {
		t.Errorf("%.0f allocations for one record", n)
	}
	if got := len(y.Totals().Failures); got != 10_000 {
		t.Errorf("%d codes, want 10000", got)
	}
}
