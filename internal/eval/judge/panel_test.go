package judge_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/internal/eval/grader"
	"github.com/rehearse-dev/rehearse/internal/eval/judge"
)

// panel makes a panel of models that each give one reply; an empty reply is a model that is down.
func panel(replies ...string) (models []judge.Named) {
	for i, reply := range replies {
		m := &script{replies: []string{reply}}
		if reply == "" {
			m.err = errors.New("down")
		}
		models = append(models, named(fmt.Sprintf("m%d", i+1), m))
	}
	return models
}

func yes(satisfied bool) string {
	return fmt.Sprintf(`{"checks":[{"id":"a","satisfied":%t,"reasoning":"says %t"}]}`, satisfied, satisfied)
}

func score(s float64) string { return fmt.Sprintf(`{"score":%g,"reasoning":"r"}`, s) }

var oneRubric = grader.Question{Mode: grader.Checklist, Output: "o", Rubrics: []grader.Rubric{{ID: "a", Outcome: "A"}}}

// A missing vote never turns a verdict: where it could, there is none.
func TestPanel(t *testing.T) {
	free, criteria := grader.Question{Mode: grader.Free, Output: "o"},
		grader.Question{Mode: grader.Criteria, Names: []string{"tone"}}
	for _, tc := range []struct {
		name    string
		q       grader.Question
		replies []string
		yes     bool
		score   float64
		err     string
	}{
		{"the majority of three", oneRubric, []string{yes(true), yes(false), yes(true)}, true, 0, ""},
		{"a tie is a no", oneRubric, []string{yes(true), yes(false)}, false, 0, ""},
		{"two of three suffice", oneRubric, []string{yes(true), "", yes(true)}, true, 0, ""},
		{"so do two against", oneRubric, []string{"", yes(false), yes(false)}, false, 0, ""},
		{
			"one each, and one missing", oneRubric, []string{yes(true), yes(false), ""}, false, 0,
			`1 of 3 votes are missing, and they could turn the verdict on "a"; m3: down`,
		},
		{"one of two", oneRubric, []string{yes(true), ""}, false, 0, "1 of 2 votes are missing"},
		{"one no of two is at best a tie", oneRubric, []string{yes(false), ""}, false, 0, ""},
		{
			"one that leaves the rubric out, and one each", oneRubric, []string{`{"checks":[]}`, yes(true), yes(false)},
			false, 0, `1 of 3 votes are missing, and they could turn the verdict on "a"; m1`,
		},
		{"one that leaves the rubric out, and two for it", oneRubric, []string{
			`{"checks":[]}`, yes(true), yes(true),
		}, true, 0, ""},
		{"all missing", oneRubric, []string{"", "", ""}, false, 0, "down"},
		{"the median of three", free, []string{score(0.2), score(0.9), score(0.6)}, false, 0.6, ""},
		{
			"a missing score", free, []string{score(0.2), "", score(0.6)}, false, 0,
			"1 of 3 votes are missing, and they could turn the verdict; m2",
		},
		{"a missing score that moves nothing", free, []string{score(0.6), "", score(0.6)}, false, 0.6, ""},
		{
			"a missing score of a criterion", criteria, []string{`{"scores":{"tone":1}}`, "", `{"scores":{"tone":0}}`},
			false, 0, `on "tone"`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v, err := judge.New(judge.Config{Panel: panel(tc.replies...)}).Decide(t.Context(), tc.q)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("%+v, %v; want an error with %q", v, err, tc.err)
				}
				return
			}
			if err != nil || v.Checks["a"].Satisfied != tc.yes || v.Score != tc.score {
				t.Fatalf("%+v, %v; want %t and %g", v, err, tc.yes, tc.score)
			}
			if len(v.Samples) != len(tc.replies) {
				t.Errorf("%d votes are kept", len(v.Samples))
			}
			for i, vote := range v.Samples {
				name := fmt.Sprintf("m%d", i+1)
				missing := tc.replies[i] == "" || tc.replies[i] == `{"checks":[]}`
				if vote.Model != name || (vote.Err != nil) != missing {
					t.Errorf("vote %d is %+v", i, vote)
				}
				if vote.Err == nil && v.Use.Models[name].Calls < 1 {
					t.Errorf("the calls of %s are not told: %+v", name, v.Use)
				}
			}
		})
	}
}

// TestMissingVotes: a verdict with missing votes is the one that comes about whatever they say.
func TestMissingVotes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		votes := rapid.SliceOfN(rapid.SampledFrom([]string{yes(true), yes(false), ""}), 2, 5).Draw(t, "votes")
		all := func(missing string) grader.Verdict {
			filled := slices.Clone(votes)
			for i := range filled {
				if filled[i] == "" {
					filled[i] = missing
				}
			}
			v, err := judge.New(judge.Config{Panel: panel(filled...)}).Decide(t.Context(), oneRubric)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		got, err := judge.New(judge.Config{Panel: panel(votes...)}).Decide(t.Context(), oneRubric)
		best, worst := all(yes(true)).Checks["a"].Satisfied, all(yes(false)).Checks["a"].Satisfied
		nobody := !slices.ContainsFunc(votes, func(v string) bool { return v != "" })
		switch {
		case err != nil && best == worst && !nobody:
			t.Fatalf("no verdict: %v, and it is %t whatever the others say", err, best)
		case err == nil && (best != worst || got.Checks["a"].Satisfied != best):
			t.Fatalf("%t, and the others could make it %t or %t", got.Checks["a"].Satisfied, worst, best)
		}
	})
}

// Each vote is remembered as that of its model, so that another panel and a single judge find it; what a panel agreed
// on is not remembered.
func TestPanelCache(t *testing.T) {
	shared := &shelf{m: map[string][]byte{}}
	models := panel(yes(true), yes(true), yes(false))
	ask := func(c judge.Config) grader.Verdict {
		c.Cache = shared
		v, err := judge.New(c).Decide(t.Context(), oneRubric)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	if v := ask(judge.Config{Panel: models}); !v.Checks["a"].Satisfied || len(shared.m) != 3 {
		t.Fatalf("%+v with %d verdicts remembered", v, len(shared.m))
	}
	if v := ask(judge.Config{Primary: models[2]}); v.Checks["a"].Satisfied || v.Use.CacheHits != 1 || v.Use.Calls != 0 {
		t.Errorf("a single judge has the verdict of the panel: %+v", v)
	}
	if v := ask(judge.Config{Panel: models[1:]}); v.Checks["a"].Satisfied || v.Use.Calls != 0 ||
		v.Use.Models["m2"].CacheHits != 1 {
		t.Errorf("another panel: %+v", v)
	}
	unwatched := judge.Config{Panel: models, Canary: judge.CanaryOff, Cache: shared}
	if v, err := judge.New(unwatched).Decide(t.Context(), oneRubric); err != nil || v.Use.CacheHits != 0 {
		t.Errorf("a verdict that was given with the canary is found without it: %+v, %v", v, err)
	}
}
