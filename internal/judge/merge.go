package judge

import (
	"slices"

	"rehearse/internal/grader"
)

// merge returns what several verdicts on one question agree on: the majority of yes and no, where a tie counts as no, and the median of
// scores. The reasons are those of the first verdict.
func merge(verdicts []grader.Verdict) grader.Verdict {
	if len(verdicts) == 1 {
		return verdicts[0]
	}
	merged := grader.Verdict{Reasoning: verdicts[0].Reasoning}
	for _, v := range verdicts {
		for id, check := range v.Checks {
			if merged.Checks == nil {
				merged.Checks = map[string]grader.RubricCheck{}
			}
			if _, done := merged.Checks[id]; !done {
				merged.Checks[id] = mergeCheck(verdicts, id, check.Reasoning)
			}
		}
		for name := range v.Scores {
			if merged.Scores == nil {
				merged.Scores = map[string]float64{}
			}
			merged.Scores[name] = median(verdicts, func(v grader.Verdict) float64 { return v.Scores[name] })
		}
	}
	merged.Score = median(verdicts, func(v grader.Verdict) float64 { return v.Score })
	return merged
}

// mergeCheck merges the answers to one rubric. A verdict without the rubric counts as a no.
func mergeCheck(verdicts []grader.Verdict, id, reasoning string) grader.RubricCheck {
	yes := 0
	for _, v := range verdicts {
		if v.Checks[id].Satisfied {
			yes++
		}
	}
	return grader.RubricCheck{
		Satisfied: 2*yes > len(verdicts),
		Score:     median(verdicts, func(v grader.Verdict) float64 { return v.Checks[id].Score }),
		Reasoning: reasoning,
	}
}

// median returns the median; that of an even number of scores is the mean of the middle two.
func median(verdicts []grader.Verdict, of func(grader.Verdict) float64) float64 {
	scores := make([]float64, 0, len(verdicts))
	for _, v := range verdicts {
		scores = append(scores, of(v))
	}
	slices.Sort(scores)
	middle := len(scores) / 2
	if len(scores)%2 == 1 {
		return scores[middle]
	}
	return (scores[middle-1] + scores[middle]) / 2
}
