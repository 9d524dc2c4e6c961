package calibration

// people returns the verdict that most people gave, Unclear when nobody gave one, and Split when no verdict has the
// most. Scores count by their mean.
func (i *Item) people(threshold float64) Verdict {
	if i.Scored() {
		return verdictOf(i.score() >= threshold)
	}
	votes := map[Verdict]int{}
	for _, l := range i.Labels {
		if l.Verdict != Unclear {
			votes[l.Verdict]++
		}
	}
	best, most := Unclear, 0
	for v, n := range votes {
		switch {
		case n > most:
			best, most = v, n
		case n == most:
			best = Split
		}
	}
	return best
}

// score is the mean of the scores that people gave.
func (i *Item) score() float64 {
	sum := 0.0
	for _, l := range i.Labels {
		sum += *l.Score
	}
	return sum / float64(len(i.Labels))
}

// decided reports whether a person has a verdict or a score. Of other items the judge is not asked.
func (i *Item) decided() bool { return i.people(0) != Unclear }

// verdicts returns what each person said, without what was unclear.
func (i *Item) verdicts(threshold float64) []Verdict {
	var said []Verdict
	for _, l := range i.Labels {
		switch {
		case l.Score != nil:
			said = append(said, verdictOf(*l.Score >= threshold))
		case l.Verdict != Unclear:
			said = append(said, l.Verdict)
		}
	}
	return said
}

// scores returns what each person gave.
func (i *Item) scores() []float64 {
	var given []float64
	for _, l := range i.Labels {
		given = append(given, *l.Score)
	}
	return given
}
