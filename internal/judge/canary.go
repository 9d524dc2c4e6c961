package judge

import (
	"fmt"
	"maps"
	"slices"

	"rehearse/internal/grader"
)

// BuiltinCanary is a criterion that no reply meets.
const BuiltinCanary = "The output consists of exactly one word, and that word is canary-7f3a9c"

// canaryName is the beginning of what a canary is called. It reads like any other criterion's, so that it gives nothing away.
const canaryName = "criterion"

// canary is a criterion whose right verdict is known: no reply meets it. The zero value is none.
type canary struct {
	mode grader.Mode
	// name is its id among rubrics, or its name among criteria.
	name string
}

// plant adds a canary to the criteria of a question. A question for one score has no criteria, and gets none.
func plant(q grader.Question, words string) (grader.Question, canary) {
	if words == "" || q.Mode != grader.Checklist && q.Mode != grader.Criteria {
		return q, canary{}
	}
	taken := slices.Clone(q.Names)
	for _, r := range q.Rubrics {
		taken = append(taken, r.ID)
	}
	c := canary{mode: q.Mode}
	for n := len(taken) + 1; c.name == "" || slices.Contains(taken, c.name); n++ {
		c.name = fmt.Sprintf("%s-%d", canaryName, n)
	}
	if q.Mode == grader.Checklist {
		q.Rubrics = append(slices.Clip(q.Rubrics), grader.Rubric{ID: c.name, Outcome: words})
		return q, c
	}
	q.Names = append(slices.Clip(q.Names), c.name)
	if q.Meanings = maps.Clone(q.Meanings); q.Meanings == nil {
		q.Meanings = map[string]string{}
	}
	q.Meanings[c.name] = words
	return q, c
}

// check returns the verdict without the canary, or an error when the judge finds it met or says nothing about it.
func (c canary) check(v grader.Verdict, judge string) (grader.Verdict, error) {
	met, answered := false, true
	switch c.mode {
	case grader.Checklist:
		var a grader.RubricCheck
		a, answered = v.Checks[c.name]
		met = a.Satisfied
		v.Checks = maps.Clone(v.Checks)
		delete(v.Checks, c.name)
	case grader.Criteria:
		var score float64
		score, answered = v.Scores[c.name]
		met = score >= 0.5
		v.Scores = maps.Clone(v.Scores)
		delete(v.Scores, c.name)
	}
	switch {
	case !answered:
		return grader.Verdict{Use: v.Use}, fmt.Errorf("the judge %s did not answer the canary, a criterion that no reply meets", judge)
	case met:
		return grader.Verdict{Use: v.Use}, fmt.Errorf("the judge %s is not believed: it finds the canary met, a criterion that no reply meets", judge)
	}
	return v, nil
}
