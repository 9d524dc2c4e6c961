package result

// Tally adds up the records of a run as they come. The zero value is ready to use.
type Tally struct {
	totals Totals
	scores float64
	graded int
}

// Add counts one record. For a test with trials, the trials count for usage and the aggregate for the verdict and
// for what it took to judge transcripts again.
func (y *Tally) Add(t *Test) {
	if t.Trials == nil && t.Verdict != Skip {
		y.totals.Conversations++
		y.totals.Turns += len(t.Turns)
		y.totals.Usage = y.totals.Usage.Add(t.Usage)
		y.totals.Cost = y.totals.Cost.Add(t.Cost)
		y.totals.Judge = y.totals.Judge.Add(t.Judge)
		if t.User != nil {
			y.totals.User = y.totals.User.with(t.User)
		}
	}
	if t.Trials != nil && t.Trials.Attribution != nil {
		y.totals.Judge = y.totals.Judge.Add(t.Trials.Attribution.Use)
		y.totals.Cost = y.totals.Cost.Add(t.Trials.Attribution.Use.Cost)
	}
	if t.Trial > 0 {
		return
	}
	y.totals.Tests++
	if t.Verdict != Skip {
		y.totals.Held++
	}
	if t.Quarantined != nil && t.Verdict != Skip { // it decides nothing
		y.totals.Quarantined++
		return
	}
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
	if t.Verdict == Skip { // nothing failed
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

// Tallies adds up the records of a run, as a whole and for each target. The zero value is ready to use.
type Tallies struct {
	all  Tally
	each map[string]*Tally
	lost int
}

// Add counts one record.
func (y *Tallies) Add(t *Test) {
	if y.each == nil {
		y.each = map[string]*Tally{}
	}
	if y.each[t.Target] == nil {
		y.each[t.Target] = &Tally{}
	}
	y.each[t.Target].Add(t)
	y.all.Add(t)
	for _, a := range t.Attempts {
		if a.Code == WorkerLost {
			y.lost++
		}
	}
}

// Lost returns how many attempts ended with their worker. Nobody knows what they have used.
func (y *Tallies) Lost() int { return y.lost }

// Totals returns what was counted over all targets.
func (y *Tallies) Totals() Totals { return y.all.Totals() }

// Of returns what was counted of a target.
func (y *Tallies) Of(target string) Totals {
	if y.each[target] == nil {
		return Totals{}
	}
	return y.each[target].Totals()
}
