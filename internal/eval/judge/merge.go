package judge

import (
	"fmt"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/eval/grader"
)

// merge returns what several votes on one question agree on: the majority of yes and no, where a tie counts as no, and
// the median of scores. The reasons are those of the first vote, for a rubric of the first one that agrees. Missing
// votes decide nothing: where they could turn the verdict either way, there is none, and the error says what is
// missing. A vote has an answer to every criterion, or it is missing.
func merge(q grader.Question, votes []grader.Sample) (grader.Verdict, error) {
	b := ballot{all: len(votes)}
	for _, vote := range votes {
		if vote.Err == nil {
			b.given = append(b.given, vote.Verdict)
		}
	}
	switch {
	case len(b.given) == 0:
		return grader.Verdict{}, votes[0].Err
	case b.all == 1:
		return b.given[0], nil
	}
	merged := b.merge(q)
	if !b.open {
		return merged, nil
	}
	i := slices.IndexFunc(votes, func(vote grader.Sample) bool { return vote.Err != nil })
	return grader.Verdict{}, fmt.Errorf("%d of %d votes are missing, and they could turn the verdict%s; %s: %w",
		b.all-len(b.given), b.all, b.about, votes[i].Model, votes[i].Err)
}

// ballot merges votes. all counts the missing ones too.
type ballot struct {
	all   int
	given []grader.Verdict
	// open is true when the missing votes could turn something; about says what.
	open  bool
	about string
}

func (b *ballot) merge(q grader.Question) grader.Verdict {
	merged := grader.Verdict{Reasoning: b.given[0].Reasoning}
	switch q.Mode {
	case grader.Checklist:
		merged.Checks = map[string]grader.RubricCheck{}
		for _, r := range q.Rubrics {
			b.check(r, merged.Checks)
		}
	case grader.Criteria:
		merged.Scores = map[string]float64{}
		for _, name := range q.Names {
			merged.Scores[name] = b.median(1, name, func(v grader.Verdict) float64 { return v.Scores[name] })
		}
	default:
		merged.Score = b.median(1, "", func(v grader.Verdict) float64 { return v.Score })
		if q.Mode == grader.Compare && merged.Score > 0 && merged.Score < 1 { // also half a tie
			merged.Score = 0.5
		}
	}
	return merged
}

// check merges the answers to one rubric. The reason is that of the first vote of the majority.
func (b *ballot) check(r grader.Rubric, merged map[string]grader.RubricCheck) {
	yes := 0
	for _, v := range b.given {
		if v.Checks[r.ID].Satisfied {
			yes++
		}
	}
	one := grader.RubricCheck{Reasoning: b.given[0].Checks[r.ID].Reasoning}
	if len(r.Ranges) > 0 {
		one.Score = b.median(10, r.ID, func(v grader.Verdict) float64 { return v.Checks[r.ID].Score })
	} else {
		one.Satisfied = 2*yes > b.all
		b.leave(!one.Satisfied && 2*(yes+b.all-len(b.given)) > b.all, r.ID)
	}
	for _, v := range b.given {
		if c := v.Checks[r.ID]; len(r.Ranges) == 0 && 2*yes != b.all && c.Satisfied == one.Satisfied {
			one.Reasoning = c.Reasoning
			break
		}
	}
	merged[r.ID] = one
}

// leave notes what the missing votes leave open.
func (b *ballot) leave(open bool, criterion string) {
	if !open {
		return
	}
	if b.open = true; criterion != "" && b.about == "" {
		b.about = fmt.Sprintf(" on %q", criterion)
	}
}

// median returns the median of scores up to high; that of an even number of scores is the mean of the middle two. It is
// open when missing votes could move it.
func (b *ballot) median(high float64, criterion string, of func(grader.Verdict) float64) float64 {
	scores := make([]float64, b.all-len(b.given), b.all) // the missing ones are 0
	for _, v := range b.given {
		scores = append(scores, of(v))
	}
	low := middle(scores)
	for i := range b.all - len(b.given) {
		scores[i] = high
	}
	b.leave(middle(scores) > low, criterion)
	return low
}

func middle(scores []float64) float64 {
	sorted := slices.Sorted(slices.Values(scores))
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return (sorted[half-1] + sorted[half]) / 2
}
