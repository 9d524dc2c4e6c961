package result

// Tally adds up the records of a run as they come. The zero value is ready to use.
type Tally struct {
	totals Totals
	scores float64
	graded int
}

// Add counts one record. For a test with trials, the trials count for usage and the aggregate for the verdict.
func (y *Tally) Add(t *Test) {
	if t.Trials == nil && t.Verdict != Skip {
		y.totals.Conversations++
		y.totals.Turns += len(t.Turns)
		y.totals.Usage = y.totals.Usage.Add(t.Usage)
		y.totals.Cost = y.totals.Cost.Add(t.Cost)
		y.totals.Judge = y.totals.Judge.Add(t.Judge)
	}
	if t.Trial > 0 {
		return
	}
	y.totals.Tests++
	switch t.Verdict {
	case Pass:
		y.totals.Passed++
	case Fail:
		y.totals.Failed++
	case Error:
		y.totals.Errors++
	case Skip:
		y.totals.Skipped++
	}
	if t.Verdict == Pass || t.Verdict == Fail {
		y.scores += t.Score
		y.graded++
	}
	if t.Verdict == Skip { // its failures give the reason for skipping, nothing failed
		return
	}
	for _, f := range t.Failures {
		if y.totals.Failures == nil {
			y.totals.Failures = map[Code]int{}
		}
		y.totals.Failures[f.Code]++
	}
}

// Totals returns what was counted so far. The mean score is over the tests that could be graded.
func (y *Tally) Totals() Totals {
	t := y.totals
	if y.graded > 0 {
		t.MeanScore = new(y.scores / float64(y.graded))
	}
	return t
}
