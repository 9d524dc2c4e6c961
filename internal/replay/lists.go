package replay

import "math"

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

// Ends counts how sessions ended in the log, and then in a lane. Sessions of which the log does not say how they ended
// are not counted. A lane that waits where the user had dropped off has not completed, so that no dropped session is
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
