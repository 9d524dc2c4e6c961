package replay

import "rehearse/internal/stats"

// Measure fills in the metrics and alignments of a pair's lanes; side says which logged states count. Pairs that are dropped stay without.
func Measure(s *Session, pair *Pair, side Side) {
	if pair.Dropped != "" {
		return
	}
	observed := pair.Lane(Observed)
	common := commonSupport(pair)
	// Forced turns are independent: each is compared with its own logged one, since a state that is right one turn late is wrong.
	similarity, align := stats.LevenshteinSimilarity[string], stats.Align[string]
	if pair.Mode == Forced {
		similarity, align = stats.PositionalMatch[string], inStep
	}
	for i := range pair.Lanes {
		if lane := &pair.Lanes[i]; lane.Name != Observed {
			lane.measure(s, observed, side, common, similarity, align)
		}
	}
}

func (l *Lane) measure(
	s *Session, observed *Lane, side Side, common []int,
	similarity func(was, is []string) float64, align func(was, is []string) ([]stats.Aligned, error),
) {
	p := l.played(s)
	m := Score(s, p, side, similarity)
	was, is := s.States(side), p.States()
	if scores, err := stats.ScoreSequences(was, is); err == nil {
		m.Sequence = &scores
		l.Alignment, _ = align(was, is) // it fails where the scores do
	}
	turns := len(observed.Turns)
	if turns > 0 {
		m.SupportCoverage = new(float64(supportedTurns(l)) / float64(turns))
	}
	if len(s.Data) > 0 {
		d := MatchData(s.Data, l.Data)
		m.DataMatch = &d
		m.NormalAccuracy = new(float64(d.Equal) / float64(max(1, d.Equal+d.Wrong+d.Missing)))
	}
	m.UserSeconds = thinking(s)
	m.Tokens, m.CostUSD = new(0.0), new(0.0)
	for i := range l.Turns {
		t := &l.Turns[i]
		*m.Tokens += float64(t.Tokens)
		*m.CostUSD += t.CostUSD
	}
	m.OnSupport = l.onSupport(&m, was, common, similarity)
	l.Metrics = &m
}

// inStep lines up turn by turn.
func inStep(was, is []string) ([]stats.Aligned, error) {
	steps := make([]stats.Aligned, min(len(was), len(is)))
	for i := range steps {
		steps[i] = stats.Aligned{Original: i, Replay: i}
	}
	return steps, nil
}

// played is the lane as replays are exchanged.
func (l *Lane) played(s *Session) *Played {
	p := &Played{SessionID: s.ID, FlowID: s.FlowID, Variant: l.Name, Completed: l.Completed, Data: l.Data, Turns: make([]PlayedTurn, len(l.Turns))}
	for i := range l.Turns {
		t := &l.Turns[i]
		p.Turns[i] = PlayedTurn{Number: t.Number, State: t.State, Transition: t.Transition, LatencyMS: t.LatencyMS, At: t.Ended}
	}
	return p
}

// commonSupport returns the indexes of the turns that are supported in every lane.
func commonSupport(pair *Pair) []int {
	var common []int
turns:
	for i := range pair.Lane(Observed).Turns {
		for l := range pair.Lanes {
			if turns := pair.Lanes[l].Turns; i >= len(turns) || !turns[i].Supported {
				continue turns
			}
		}
		common = append(common, i)
	}
	return common
}

func (l *Lane) onSupport(whole *Metrics, was []string, common []int, similarity func(was, is []string) float64) *OnSupport {
	on := &OnSupport{Turns: len(common)}
	if len(common) == len(was) {
		on.CompletionMatch, on.TurnCountRatio, on.DataAccuracy = whole.CompletionMatch, whole.TurnCountRatio, whole.DataAccuracy
	}
	if len(common) == 0 {
		return on
	}
	logged, replayed := make([]string, len(common)), make([]string, len(common))
	turns := make([]PlayedTurn, len(common))
	for i, at := range common {
		logged[i], replayed[i] = was[at], l.Turns[at].State
		turns[i].LatencyMS = l.Turns[at].LatencyMS
	}
	on.StateProgression = new(similarity(logged, replayed))
	on.AvgLatencyMS = meanLatency(turns)
	return on
}

// thinking is how long the user took for all messages but the first, in seconds; nil without an answer to think about.
func thinking(s *Session) *float64 {
	var sum *float64
	for i := 1; i < len(s.Messages); i++ {
		if m, before := &s.Messages[i], &s.Messages[i-1]; m.User && !before.User {
			if sum == nil {
				sum = new(0.0)
			}
			*sum += m.At.Sub(before.At).Seconds()
		}
	}
	return sum
}
