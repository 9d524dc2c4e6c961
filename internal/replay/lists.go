package replay

import (
	"math"
)

// Lists name the sessions that a reader will want to look at, by their ids.
type Lists struct {
	// Regressed ended as in the log in the baseline, and not in the candidate; Fixed is the reverse.
	Regressed []string `json:"regressed"`
	Fixed     []string `json:"fixed"`
	// NewlyLost were completed by the baseline, and not by the candidate.
	NewlyLost []string `json:"newly_lost"`
	// Lost were completed in the log, and not by the candidate. Rescued were dropped in the log, and the candidate
	// completed them without ending early.
	Lost    []string `json:"lost"`
	Rescued []string `json:"rescued"`
	// Censored completed in the log and wait for an answer in either lane.
	Censored []string `json:"censored"`
}

// Ends counts how sessions ended in the log, and then in a lane. Sessions with an unknown end in the log are not
// counted. A lane that waits where the user had dropped off has not completed, so that no dropped session is
// censored.
type Ends struct {
	CompletedCompleted int `json:"completed_completed"`
	CompletedNot       int `json:"completed_not"`
	CompletedCensored  int `json:"completed_censored"`
	DroppedCompleted   int `json:"dropped_completed"`
	DroppedNot         int `json:"dropped_not"`
	DroppedCensored    int `json:"dropped_censored"`
}

// lists makes the lists in the order of the sessions.
func (t *Tally) lists() Lists {
	l := Lists{
		Regressed: []string{}, Fixed: []string{}, NewlyLost: []string{}, Lost: []string{}, Rescued: []string{},
		Censored: []string{},
	}
	is := t.figures(Candidate)
	was := t.figures(Baseline)
	for i := range t.sessions {
		s := &t.sessions[i]
		switch {
		case was == nil: // the candidate is compared with the log alone
		case was(CompletionMatch, i) > is(CompletionMatch, i):
			l.Regressed = append(l.Regressed, s.id)
		case was(CompletionMatch, i) < is(CompletionMatch, i):
			l.Fixed = append(l.Fixed, s.id)
		}
		if was != nil && t.newlyLost(i) {
			l.NewlyLost = append(l.NewlyLost, s.id)
		}
		if t.isCensored(i) {
			l.Censored = append(l.Censored, s.id)
		}
		completed := mostly(is(CompletedShare, i))
		switch {
		case math.IsNaN(is(CompletedShare, i)):
		case s.outcome == EndCompleted && !completed:
			l.Lost = append(l.Lost, s.id)
		case s.outcome == EndDropped && completed && !mostly(is(EndedEarly, i)):
			l.Rescued = append(l.Rescued, s.id)
		}
	}
	return l
}

// newlyLost reports whether the baseline completes a session and the candidate does not, as far as both are known.
func (t *Tally) newlyLost(session int) bool {
	is := t.figures(Candidate)(CompletedShare, session)
	return mostly(t.figures(Baseline)(CompletedShare, session)) && !math.IsNaN(is) && !mostly(is)
}

// isCensored reports whether a session is censored in any lane.
func (t *Tally) isCensored(session int) bool {
	for _, l := range t.lanes {
		if l.censored != nil && l.censored[session] {
			return true
		}
	}
	return false
}

// mostly reports whether something happened in at least half of the times that a session was played.
func mostly(share float64) bool { return share >= 0.5 }

// figures returns what looks up a metric of a lane in a session, NaN where it does not apply; nil when there is no such
// lane.
func (t *Tally) figures(lane string) func(metric string, session int) float64 {
	l := t.lanes[lane]
	if l == nil {
		return nil
	}
	return func(metric string, session int) float64 { return l.whole[columnOf(metric)][session] }
}

// outcomes counts the ends of each lane.
func (t *Tally) outcomes() map[string]Ends {
	all := map[string]Ends{}
	for _, lane := range []string{Baseline, Candidate} {
		of := t.figures(lane)
		if of == nil {
			continue
		}
		var e Ends
		for i := range t.sessions {
			share := of(CompletedShare, i)
			completed := mostly(share)
			switch outcome := t.sessions[i].outcome; {
			case t.lanes[lane].censored[i]:
				e.CompletedCensored++
			case math.IsNaN(share):
			case outcome == EndCompleted && completed:
				e.CompletedCompleted++
			case outcome == EndCompleted:
				e.CompletedNot++
			case outcome == EndDropped && completed:
				e.DroppedCompleted++
			case outcome == EndDropped:
				e.DroppedNot++
			}
		}
		all[lane] = e
	}
	return all
}

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
