package report_test

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rehearse/internal/report"
	"rehearse/internal/result"
)

func came(id string, v result.Verdict, score float64) *result.Test {
	t := test("s", id)
	t.Verdict, t.Score = v, score
	return t
}

func ids(changes []report.Change) (out []string) {
	for _, c := range changes {
		out = append(out, c.TestID)
	}
	return out
}

func TestCompare(t *testing.T) {
	p, f, e, s := result.Pass, result.Fail, result.Error, result.Skip
	trial := came("trials", f, 0)
	trial.Trial = 1
	elsewhere := came("same", f, 0)
	elsewhere.Target = "other"
	baseline := each(
		came("same", p, 1), came("worse", p, 1), came("slightly", p, 0.9), came("breaks", p, 0.9), came("fixed", f, 0.2), came("healed", e, 0),
		came("bad", f, 0.3), came("was error", e, 0), came("now error", p, 1), came("now skipped", f, 0.1), came("gone", p, 1), trial, came("trials", p, 1), elsewhere,
	)
	candidate := each(
		came("trials", p, 1), came("same", p, 1), came("worse", p, 0.85), came("slightly", p, 0.905), came("breaks", f, 0.4), came("fixed", p, 1), came("healed", p, 0.8),
		came("bad", f, 0.5), came("was error", f, 0), came("now error", e, 0), came("now skipped", s, 0), came("new", f, 0), trial,
	)
	d, err := report.Compare(baseline, candidate)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{
		"regressed": ids(d.Regressed), "fixed": ids(d.Fixed), "still": ids(d.StillFailing), "ungraded": ids(d.Ungraded),
		"new": ids(d.New), "gone": ids(d.Gone), "moved": ids(d.Moved),
	}
	want := map[string][]string{
		"regressed": {"breaks"}, "fixed": {"fixed", "healed"}, "still": {"bad", "was error"}, "ungraded": {"now error", "now skipped"},
		"new": {"new"}, "gone": {"gone", "same"}, "moved": {"worse"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Compare mismatch (-want +got):\n%s", diff)
	}
	// same 0, worse -0.15, slightly 0.005, breaks -0.5, fixed 0.8, bad 0.2, trials 0: mean 0.355/7.
	if d.Unchanged != 3 || d.Paired != 7 || math.Abs(d.MeanDelta-0.355/7) > 1e-12 || d.Interval[0] > d.MeanDelta || d.Interval[1] < d.MeanDelta {
		t.Errorf("unchanged %d, paired %d, mean %v in %v", d.Unchanged, d.Paired, d.MeanDelta, d.Interval)
	}
	if delta := d.Regressed[0].Delta(); math.Abs(delta+0.5) > 1e-12 || d.Regressed[0].Change() != "pass 0.90 → fail 0.40 (-0.50)" {
		t.Errorf("regressed by %v: %s", delta, d.Regressed[0].Change())
	}
}

func TestCompareWithItself(t *testing.T) {
	_, tests := sample()
	d, err := report.Compare(each(tests...), each(tests...))
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Regressed)+len(d.Fixed)+len(d.New)+len(d.Gone)+len(d.Moved) > 0 || d.MeanDelta != 0 {
		t.Errorf("a run differs from itself: %+v", d)
	}
}

func TestCompareFilesEveryTestOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := func(label string) (tests []*result.Test) {
			for _, id := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}), rapid.ID).Draw(t, label) {
				v := rapid.SampledFrom([]result.Verdict{result.Pass, result.Fail, result.Error, result.Skip}).Draw(t, "verdict")
				tests = append(tests, came(id, v, rapid.Float64Range(0, 1).Draw(t, "score")))
			}
			return tests
		}
		was, now := run("was"), run("now")
		d, err := report.Compare(each(was...), each(now...))
		if err != nil {
			t.Fatal(err)
		}
		both := len(d.Regressed) + len(d.Fixed) + len(d.StillFailing) + len(d.Ungraded) + len(d.Moved) + d.Unchanged
		if both+len(d.New) != len(now) || both+len(d.Gone) != len(was) {
			t.Fatalf("%d and %d tests are filed as %+v", len(was), len(now), d)
		}
	})
}

func TestCompareSaysWhichSideIsBroken(t *testing.T) {
	broken := func(yield func(*result.Test, error) bool) { yield(nil, errors.New("torn")) }
	if _, err := report.Compare(broken, each()); err == nil || err.Error() != "baseline: torn" {
		t.Errorf("broken baseline: %v", err)
	}
	if _, err := report.Compare(each(), broken); err == nil || err.Error() != "candidate: torn" {
		t.Errorf("broken candidate: %v", err)
	}
}
