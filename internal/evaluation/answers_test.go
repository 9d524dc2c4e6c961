package evaluation_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"rehearse/internal/evaluation"
	"rehearse/internal/result"
	"rehearse/internal/runlog"
)

// Answers are counted by their verdicts; dimensions are averaged over the answers that have scores.
func TestReadAnswers(t *testing.T) {
	dir := t.TempDir()
	log, err := runlog.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	scored := func(flow, format float64) []result.Score {
		return []result.Score{{Assertions: []result.Assertion{{Text: "flow", Score: &flow}, {Text: "format", Score: &format}, {Text: "other", Score: &flow}}}}
	}
	for _, one := range []*result.Test{
		{TestID: "a", Verdict: result.Pass, Scores: scored(1, 0.5)}, {TestID: "b", Verdict: result.Fail, Scores: scored(0.5, 0.5)},
		{TestID: "c", Verdict: result.Pass}, {TestID: "d", Verdict: result.Error},
	} {
		if err := log.Append(one); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := evaluation.ReadAnswers(&evaluation.Held{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(evaluation.Answers{Good: 2, Graded: 3, Dimensions: map[string]float64{"flow": 0.75, "format": 0.5}}, got); d != "" {
		t.Errorf("answers (-want +got):\n%s", d)
	}
}

// Enough good answers pass, too few fail, and a run that could not be graded stays as it is.
func TestRequireShare(t *testing.T) {
	for _, c := range []struct {
		good, graded, code, want int
	}{
		{7, 10, result.ExitFailed, result.ExitPassed},
		{6, 10, result.ExitFailed, result.ExitFailed},
		{0, 0, result.ExitPassed, result.ExitFailed},
		{10, 10, result.ExitNotRun, result.ExitNotRun},
		{10, 10, result.ExitInterrupted, result.ExitInterrupted},
	} {
		h := &evaluation.Held{Run: result.Run{ExitCode: &c.code}}
		h.RequireShare(evaluation.Answers{Good: c.good, Graded: c.graded}, 0.7)
		if h.Run.Code() != c.want {
			t.Errorf("%d of %d good answers make %d of exit code %d, want %d", c.good, c.graded, h.Run.Code(), c.code, c.want)
		}
	}
}
