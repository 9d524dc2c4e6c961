package evaluation_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/app/evaluation"
	"github.com/rehearse-dev/rehearse/internal/data/dataset"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Answers are counted by their verdicts; dimensions are averaged over the answers that have scores.
func TestReadAnswers(t *testing.T) {
	dir := t.TempDir()
	log, err := runlog.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	scored := func(flow, format float64) []result.Score {
		return []result.Score{{Assertions: []result.Assertion{
			{Text: "flow", Score: &flow},
			{Text: "format", Score: &format},
			{Text: "other", Score: &flow},
		}}}
	}
	for _, one := range []*result.Test{
		{TestID: "a", Verdict: result.Pass, Scores: scored(1, 0.5)},
		{TestID: "b", Verdict: result.Fail, Scores: scored(0.5, 0.5)},
		{TestID: "c", Verdict: result.Pass, Metadata: map[string]any{"warnings": []string{
			"ambiguous_cut: x", "unknown_role: y",
		}}},
		{TestID: "d", Verdict: result.Error, Metadata: map[string]any{"warnings": []string{"unknown_role: z"}}},
	} {
		if err := log.Append(one); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := evaluation.ReadAnswers(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := evaluation.Answers{
		Good: 2, Graded: 3, Dimensions: map[string]float64{"flow": 0.75, "format": 0.5},
		Unclear: dataset.Unclear{Items: 2, Codes: map[string]int{"ambiguous_cut": 1, "unknown_role": 2}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("answers (-want +got):\n%s", d)
	}
	if said := got.Warning(); !strings.HasPrefix(said,
		"2 items with a history that is not quite clear: ambiguous_cut 1, unknown_role 2;") {
		t.Error(said)
	}
}

// Enough good answers pass, too few fail, and a run that could not be graded or did not come to its end stays as it is.
func TestDecide(t *testing.T) {
	for what, c := range map[string]struct {
		good, graded int
		run          result.Run
		least        float64
		want         int
	}{
		"enough":                      {7, 10, ended(result.ExitFailed, result.ReasonFailed), 0.7, result.ExitPassed},
		"too few":                     {6, 10, ended(result.ExitFailed, result.ReasonFailed), 0.7, result.ExitFailed},
		"all good, all asked":         {10, 10, ended(result.ExitPassed, result.ReasonPassed), 1, result.ExitPassed},
		"none good, and none asked":   {0, 10, ended(result.ExitFailed, result.ReasonFailed), 0, result.ExitPassed},
		"none graded":                 {0, 0, ended(result.ExitPassed, result.ReasonPassed), 0.7, result.ExitFailed},
		"none graded, and none asked": {0, 0, ended(result.ExitPassed, result.ReasonPassed), 0, result.ExitFailed},
		"errors":                      {10, 10, ended(result.ExitNotRun, result.ReasonErrors), 0, result.ExitNotRun},
		"interrupted": {
			10, 10, ended(result.ExitInterrupted, result.ReasonInterrupted), 0, result.ExitInterrupted,
		},
		"a spent budget": {1, 1, ended(result.ExitFailed, result.ReasonBudget), 0, result.ExitFailed},
		"not all held, whoever says so": {
			1, 1, unheld(ended(result.ExitFailed, result.ReasonFailed), 5), 0, result.ExitFailed,
		},
	} {
		evaluation.Answers{Good: c.good, Graded: c.graded}.Decide(&c.run, c.least)
		if c.run.Code() != c.want {
			t.Errorf("%s: %d of %d good answers end with %d, want %d", what, c.good, c.graded, c.run.Code(), c.want)
		}
	}
}

func ended(code int, reason string) (r result.Run) {
	r.Ended(code, reason)
	return r
}

func unheld(r result.Run, tests int) result.Run {
	r.Totals.NotRun = tests
	return r
}
