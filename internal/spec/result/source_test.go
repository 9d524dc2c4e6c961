package result

import "testing"

func TestPlace(t *testing.T) {
	at := &Source{File: "evals/shop.yaml", Line: 4, Turns: []int{6, 9, 12}}
	failed := func(name string, v Verdict) Score { return Score{Name: name, Verdict: v} }
	for _, c := range []struct {
		name string
		test Test
		file string
		line int
	}{
		{"a test that was made", Test{Verdict: Fail}, "", 0},
		{"passed", Test{Verdict: Pass, Source: at, Scores: []Score{failed("turn-2", Fail)}}, "evals/shop.yaml", 4},
		{"the first turn that failed", Test{Verdict: Fail, Source: at, Scores: []Score{
			failed("turn-1", Pass), failed("turn-2", Fail), failed("turn-3", Fail),
		}}, "evals/shop.yaml", 9},
		{"a turn that could not be graded", Test{
			Verdict: Error, Source: at, Scores: []Score{failed("turn-3", Error)},
		}, "evals/shop.yaml", 12},
		{"the whole conversation", Test{
			Verdict: Fail, Source: at, Scores: []Score{failed("turn-1", Pass), failed("assertions", Fail)},
		}, "evals/shop.yaml", 4},
		{
			"a turn that nobody wrote", Test{Verdict: Fail, Source: at, Scores: []Score{failed("turn-7", Fail)}},
			"evals/shop.yaml", 4,
		},
		{"an aggregate", Test{
			Verdict: Fail, Source: at, Trials: &Trials{}, Failures: []Failure{{Code: Flaky}, {Turn: 3}, {Turn: 2}},
		}, "evals/shop.yaml", 9},
	} {
		if file, line := c.test.Location(); file != c.file || line != c.line {
			t.Errorf("%s: %s:%d, want %s:%d", c.name, file, line, c.file, c.line)
		}
	}
}

// The id was computed with sha256sum.
func TestAnchor(t *testing.T) {
	k := Key{Suite: "shop", TestID: "refund", Target: "agent"}
	const want = "t-a48ee52ba158"
	if got := k.Anchor(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if k.Trial = 3; k.Anchor() != want+"-3" {
		t.Errorf("trial: %s", k.Anchor())
	}
}
