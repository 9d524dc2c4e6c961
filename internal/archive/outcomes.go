package archive

import "rehearse/internal/result"

// Outcomes counts how tests came out, as the log has them.
type Outcomes struct {
	Passed, Failed, Errors, Skipped int
	// Quarantined are tests that decide nothing, whatever came out.
	Quarantined int
	// Scores is the sum of the scores of those that passed or failed.
	Scores float64
}

// And returns the sum of two.
func (o Outcomes) And(p Outcomes) Outcomes {
	return Outcomes{o.Passed + p.Passed, o.Failed + p.Failed, o.Errors + p.Errors, o.Skipped + p.Skipped, o.Quarantined + p.Quarantined, o.Scores + p.Scores}
}

func (o Outcomes) with(e *Entry) Outcomes {
	switch {
	case e.Verdict == result.Skip:
		o.Skipped++
	case e.Quarantined != nil:
		o.Quarantined++
	case !e.Verdict.Graded():
		o.Errors++
	default:
		o.Scores += e.Score
		if e.Verdict == result.Pass {
			o.Passed++
		} else {
			o.Failed++
		}
	}
	return o
}

// outcomesOf counts tests by their targets.
func outcomesOf(tests []*Entry) map[string]Outcomes {
	all := map[string]Outcomes{}
	for _, e := range tests {
		all[e.Target] = all[e.Target].with(e)
	}
	return all
}
