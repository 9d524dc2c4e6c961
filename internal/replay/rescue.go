package replay

import "math"

// rescued returns the dropped sessions that only the candidate completes, if completion match falls by nothing else and
// the candidate loses no session that the baseline completes; else nil. By the log alone a rescue would be harm.
func (t *Tally) rescued(sessions []int) map[int]bool {
	was, is := t.figures(Baseline), t.figures(Candidate)
	if was == nil || is == nil {
		return nil
	}
	found, sum := map[int]bool{}, 0.0
	for _, i := range sessions {
		if t.newlyLost(i) {
			return nil
		}
		difference := is(CompletionMatch, i) - was(CompletionMatch, i)
		if math.IsNaN(difference) {
			continue
		}
		sum += difference
		rescue := t.sessions[i].outcome == EndDropped && mostly(is(CompletedShare, i)) &&
			!mostly(was(CompletedShare, i)) && !mostly(is(EndedEarly, i))
		if rescue {
			found[i] = true
		} else if difference < 0 {
			return nil
		}
	}
	if sum >= 0 {
		return nil
	}
	return found
}

// decideByCompleted lets completion decide in place of completion match.
func decideByCompleted(metrics []metric) {
	metrics[columnOf(CompletionMatch)].role, metrics[columnOf(CompletedShare)].role = shown, decides
}

// openEnds counts the censored sessions of each lane, and those in which the candidate may have lost a completion by
// that: it is censored itself, or does not complete where the baseline is censored.
func (t *Tally) openEnds(sessions []int) (censored map[string]int, open int) {
	censored = map[string]int{}
	baseline, candidate := t.lanes[Baseline], t.lanes[Candidate]
	for _, i := range sessions {
		if baseline.censored[i] {
			censored[Baseline]++
		}
		if candidate.censored[i] {
			censored[Candidate]++
		}
		if t.isOpen(i) {
			open++
		}
	}
	return censored, open
}

func (t *Tally) isOpen(session int) bool {
	completed := t.figures(Candidate)(CompletedShare, session)
	return t.lanes[Candidate].censored[session] ||
		t.lanes[Baseline].censored[session] && !math.IsNaN(completed) && !mostly(completed)
}
