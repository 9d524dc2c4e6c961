package judge_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"rehearse/internal/grader"
	"rehearse/internal/judge"
	"rehearse/internal/llm"
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
	free, criteria := grader.Question{Mode: grader.Free, Output: "o"}, grader.Question{Mode: grader.Criteria, Names: []string{"tone"}}
	left := `{"checks":[]}`
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
		{"one each, and one missing", oneRubric, []string{yes(true), yes(false), ""}, false, 0, `1 of 3 votes are missing, and they could turn the verdict on "a"; m3: down`},
		{"one of two", oneRubric, []string{yes(true), ""}, false, 0, "1 of 2 votes are missing"},
		{"one no of two is at best a tie", oneRubric, []string{yes(false), ""}, false, 0, ""},
		{"one that leaves the rubric out, and two missing", oneRubric, []string{left, "", ""}, false, 0, "2 of 3 votes are missing"},
		{"all missing", oneRubric, []string{"", "", ""}, false, 0, "down"},
		{"the median of three", free, []string{score(0.2), score(0.9), score(0.6)}, false, 0.6, ""},
		{"a missing score", free, []string{score(0.2), "", score(0.6)}, false, 0, "1 of 3 votes are missing, and they could turn the verdict; m2"},
		{"a missing score that moves nothing", free, []string{score(0.6), "", score(0.6)}, false, 0.6, ""},
		{"a missing score of a criterion", criteria, []string{`{"scores":{"tone":1}}`, "", `{"scores":{"tone":0}}`}, false, 0, `on "tone"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v, err := judge.New(judge.Config{Panel: panel(tc.replies...)}).Ask(t.Context(), tc.q)
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
				if vote.Model != name || (vote.Err != nil) != (tc.replies[i] == "") {
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
			v, err := judge.New(judge.Config{Panel: panel(filled...)}).Ask(t.Context(), oneRubric)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		got, err := judge.New(judge.Config{Panel: panel(votes...)}).Ask(t.Context(), oneRubric)
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

// Each vote is remembered as that of its model, so that another panel and a single judge find it; what a panel agreed on is not remembered.
func TestPanelCache(t *testing.T) {
	shared := &shelf{m: map[string][]byte{}}
	models := panel(yes(true), yes(true), yes(false))
	ask := func(c judge.Config) grader.Verdict {
		c.Cache = shared
		v, err := judge.New(c).Ask(t.Context(), oneRubric)
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
	if v := ask(judge.Config{Panel: models[1:]}); v.Checks["a"].Satisfied || v.Use.Calls != 0 || v.Use.Models["m2"].CacheHits != 1 {
		t.Errorf("another panel: %+v", v)
	}
	watched := judge.Config{Panel: models, Canary: judge.BuiltinCanary, Cache: shared}
	if v, err := judge.New(watched).Ask(t.Context(), oneRubric); err == nil || v.Use.CacheHits != 0 {
		t.Errorf("a verdict that was given without the canary is found: %+v, %v", v, err)
	}
}

// canaryReply is satisfied with the rubric a, and says of the canary what it is given.
func canaryReply(canary string) string {
	return `{"checks":[{"id":"a","satisfied":true}` + strings.ReplaceAll(canary, "ID", "criterion-2") + `]}`
}

// A judge that finds the canary met, or leaves it out, is not believed, and nothing of it is remembered.
func TestCanary(t *testing.T) {
	criteria := grader.Question{Mode: grader.Criteria, Output: "o", Names: []string{"tone"}}
	for _, tc := range []struct {
		name    string
		q       grader.Question
		reply   string
		err     string
		settled int
	}{
		{"right", oneRubric, canaryReply(`,{"id":"ID","satisfied":false}`), "", 1},
		{"met", oneRubric, canaryReply(`,{"id":"ID","satisfied":true}`), "finds the canary met", 0},
		{"left out", oneRubric, canaryReply(""), "did not answer the canary", 0},
		{"right score", criteria, `{"scores":{"tone":1,"criterion-2":0}}`, "", 1},
		{"met score", criteria, `{"scores":{"tone":1,"criterion-2":1}}`, "finds the canary met", 0},
		{"one score has no criteria", grader.Question{Mode: grader.Free, Output: "o"}, score(0.4), "", 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := &script{replies: []string{tc.reply}}
			shared := &shelf{m: map[string][]byte{}}
			for range 2 { // the second time from the cache, where there is something
				v, err := judge.New(judge.Config{Primary: named("m", m), Canary: "Is a whale", Cache: shared}).Ask(t.Context(), tc.q)
				if tc.err != "" {
					if err == nil || !strings.Contains(err.Error(), tc.err) {
						t.Fatalf("%+v, %v; want %q", v, err, tc.err)
					}
					continue
				}
				if err != nil || len(v.Checks) > 1 || len(v.Scores) > 1 {
					t.Fatalf("%+v, %v", v, err)
				}
			}
			if len(shared.m) != tc.settled {
				t.Errorf("%d verdicts are remembered", len(shared.m))
			}
			if tc.q.Mode != grader.Free && !asks(m.asked[0], "Is a whale") {
				t.Errorf("the canary is not asked: %s", m.asked[0].Messages[1].Content)
			}
		})
	}
}

func asks(r llm.Request, words string) bool {
	return strings.Contains(r.Messages[1].Content.Text, words)
}
