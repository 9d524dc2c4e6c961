package runner

import (
	"cmp"
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// score gives a decided item its score, and the verdict pass where it deserves that. failed says that a check failed.
func score(item *result.Score, checks []Check, grades []result.Grade, failed bool, threshold float64, x *Exchange) {
	item.Score = Weigh(checks, grades, threshold)
	reached := result.Reaches(item.Score, threshold)
	switch {
	case !reached && !failed:
		item.Failures = append(item.Failures, belowThreshold(item.Score, threshold, checks, grades, x))
	case reached && !(x.Test.Execution.IsStrict() && (failed || result.AnyFails(item.Assertions))):
		item.Verdict = result.Pass
	}
}

// belowThreshold is the failure of a turn whose checks all passed their own thresholds, and whose score is too low all
// the same. It bears the code of the check with the lowest grade.
func belowThreshold(score, threshold float64, checks []Check, grades []result.Grade, x *Exchange) result.Failure {
	lowest := -1
	for i, c := range checks {
		if c.Weight > 0 && (lowest < 0 || grades[i].Score < grades[lowest].Score) {
			lowest = i
		}
	}
	f := result.Failure{Code: result.AssistantContent, Source: "threshold", Turn: x.Turn}
	if lowest >= 0 {
		f.Code = cmp.Or(grades[lowest].Code, f.Code)
	}
	what := "turn"
	if x.Turn == 0 {
		what = "conversation"
	}
	got, needed := apart(score, threshold)
	f.Message = fmt.Sprintf("%s scored %s, needs %s; every check passed its own threshold", what, got, needed)
	return f
}

// apart writes two different scores with two digits, or with as many as it takes to tell them apart.
func apart(a, b float64) (string, string) {
	for digits := 2; ; digits++ {
		x, y := fmt.Sprintf("%.*f", digits, a), fmt.Sprintf("%.*f", digits, b)
		if x != y || digits == 10 {
			return x, y
		}
	}
}
