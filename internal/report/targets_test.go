package report_test

import (
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/report"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// A run of several targets shows each by itself, and no rate over all of them.
func TestSeveralTargets(t *testing.T) {
	held := func(id, of string, score float64, v result.Verdict) *result.Test {
		x := test("suites/support.yaml", id)
		x.Target, x.Score, x.Verdict = of, score, v
		return x
	}
	tests := []*result.Test{
		held("greets", "bot a", 1, result.Pass), held("refunds", "bot a", 0.9, result.Pass),
		held("greets", "bot-b", 0.4, result.Fail), held("refunds", "bot-b", 0, result.Error),
		held("only with a", "bot a", 1, result.Pass), held("waits", "bot-b", 0, result.Skip),
	}
	run := result.Run{Targets: []string{"bot a", "bot-b"}, ExitReason: result.ReasonErrors}
	var records result.Tallies
	for _, x := range tests {
		records.Add(x)
	}
	run.Count(&records, map[string]int{"bot a": 3, "bot-b": 3})
	if run.Rate != nil || run.Interval != nil || run.Totals.MeanScore != nil ||
		run.ByTarget["bot-b"].Totals.Errors != 1 || *run.ByTarget["bot a"].Rate != 1 {
		t.Errorf("run %+v", run)
	}
	r := report.New(run, each(tests...))
	wants := map[string][]string{
		text(t, r, report.TextOptions{Width: 200}): {
			"greets       ✓ 1.00  ✗ 0.40", "refunds      ✓ 0.90  ! error", "only with a  ✓ 1.00",
			"waits                - skipped", "bot a   100% ", "bot-b   between 0% and 66.7% ",
		},
		text(t, r, report.TextOptions{Width: 200, Quiet: true}): {"bot a   100% "},
		markdown(t, r): {"| bot a | 100%<br><sub>95% interval", "| bot-b | between 0% and 66.7%<br><sub>0 of 3",
			"| Test | bot a | bot-b |", "| ✅ 1.00 | ❌ 0.40 |", "| ✅ 1.00 |  |"},
		htmlOf(t, r): {
			`<th scope="row"><bdi>bot a</bdi></th><td data-label="Pass rate" class="words"><bdi>100%<`,
			`<th scope="row"><bdi>bot-b</bdi></th><td data-label="Pass rate" class="words"><bdi>between 0% and 66.7%<`,
		},
	}
	for got, parts := range wants {
		for _, want := range parts {
			if !strings.Contains(got, want) {
				t.Errorf("no %q in\n%.3000s", want, got)
			}
		}
		for _, pooled := range []string{"75%", "\n  pass rate", "Mean score</dt>", "pass rate **", "mean score **"} {
			if strings.Contains(got, pooled) {
				t.Errorf("a rate over both, %q, in\n%.3000s", pooled, got)
			}
		}
	}
}
