package replay

import (
	"cmp"
	"slices"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/stats"
	"github.com/rehearse-dev/rehearse/internal/eval/grader"
)

// Metrics say how a replay compares with its session (replay.md section 4). What does not apply is nil.
type Metrics struct {
	SessionID string `json:"session_id"`
	FlowID    string `json:"flow_id"`
	Variant   string `json:"variant"`

	// CompletionMatch is 1 when both completed or neither did, else 0; nil when it is not known how the session ended.
	CompletionMatch *float64 `json:"completion_match"`
	// TurnCountDiff and TurnCountRatio compare the turns of the replay with those of the session.
	TurnCountDiff  *float64 `json:"turn_count_diff"`
	TurnCountRatio *float64 `json:"turn_count_ratio"`
	// StateProgression is the similarity of the two sequences of states, from 0 to 1.
	// It is nil where the log tells no state of the session.
	StateProgression *float64 `json:"state_progression_match"`
	// AvgLatencyMS is over the turns whose latency is known.
	AvgLatencyMS *float64 `json:"avg_latency_ms"`
	// P95LatencyMS is the least latency that at least 95 % of the turns do not exceed, SlowTurns the share of turns
	// that take longer than --slow. Both are nil where the latency of a turn is not known: that one may be the slowest.
	P95LatencyMS *float64 `json:"p95_latency_ms"`
	SlowTurns    *float64 `json:"slow_turns"`
	// CompletionSeconds is the time from the first turn of a completed replay to its last.
	CompletionSeconds *float64 `json:"completion_time_seconds"`
	// DataAccuracy is the share of the session's data that the replay has collected with equal values.
	DataAccuracy *float64 `json:"data_collection_accuracy"`
	// FirstDivergence is the first turn whose state is not the session's, nil when there is none.
	FirstDivergence *int `json:"first_divergence_turn"`
	// Exhausted is true when the session's messages ran out before the replay completed.
	Exhausted bool `json:"user_turns_exhausted"`

	// Censored is Variation.Censored: completion is then unknown.
	Censored bool `json:"censored,omitempty"`
	// Completed is 1 when the replay completed, else 0. CompletedOnPath, CompletedOffPath and EndedEarly split it: the
	// first two by whether every turn was supported; both are nil where support is not known.
	Completed        *float64 `json:"completed"`
	CompletedOnPath  *float64 `json:"completed_on_path"`
	CompletedOffPath *float64 `json:"completed_off_path"`
	// EndedEarly is 1 when the replay completed while the user still had something to say. NeverSent is the share of
	// the logged user messages that were not said. Forced turns are said in any case: there both are nil.
	EndedEarly *float64 `json:"ended_early"`
	NeverSent  *float64 `json:"messages_never_said"`
	// Answered is 1 when every turn was answered without an error and with something that can be seen, or with a call
	// of a tool.
	Answered *float64 `json:"answered"`

	// What follows is only known of lanes that were played here.

	// SupportCoverage is the share of the session's turns whose message answers what the lane had asked for.
	SupportCoverage *float64 `json:"support_coverage,omitempty"`
	// OnSupport are the metrics over the turns that are supported in every lane.
	OnSupport *OnSupport `json:"on_support,omitempty"`
	// Sequence has the other ways to compare the states; nil where the sequences are too long.
	Sequence *stats.SequenceScores `json:"sequence,omitempty"`
	// DataMatch counts the fields after making values alike; NormalAccuracy is its share of equal ones.
	DataMatch      *DataMatch `json:"data_match,omitempty"`
	NormalAccuracy *float64   `json:"data_collection_accuracy_normalised,omitempty"`
	// UserSeconds is the time that the real user took to think.
	UserSeconds *float64 `json:"user_think_seconds,omitempty"`
	Tokens      *float64 `json:"tokens,omitempty"`
	// ReplySimilarity is the mean over the logged replies of how like them those of the lane are. Of a reply that the
	// lane does not give it is 0.
	ReplySimilarity *float64 `json:"reply_similarity,omitempty"`
	// ReplyWinRate is 1 when the judge prefers the lane's replies to the baseline's, 0 when it prefers the baseline's,
	// else 0.5, as that of the baseline always is; nil without a verdict.
	ReplyWinRate *float64 `json:"reply_win_rate,omitempty"`
	CostUSD      *float64 `json:"cost_usd,omitempty"`
}

// OnSupport are the metrics over the turns that are supported in every lane. Those of a whole session are nil unless
// all of its turns are.
type OnSupport struct {
	Turns            int      `json:"turns"`
	CompletionMatch  *float64 `json:"completion_match"`
	TurnCountRatio   *float64 `json:"turn_count_ratio"`
	StateProgression *float64 `json:"state_progression_match"`
	AvgLatencyMS     *float64 `json:"avg_latency_ms"`
	DataAccuracy     *float64 `json:"data_collection_accuracy"`
}

// Measuring says how sessions are measured.
type Measuring struct {
	// Side says which logged states count. Empty means After.
	Side Side
	// Slow is the latency from which on, excluded, a turn is slow; 0 means DefaultSlow.
	Slow time.Duration
	// Similarity compares two sequences of states; nil leaves it to the mode.
	Similarity func(a, b []string) float64
}

// DefaultSlow is the latency above which a turn is slow, where nothing else is said.
const DefaultSlow = 10 * time.Second

// similarity is how sequences of states are compared in a mode.
func (how Measuring) similarity(mode Mode) func(a, b []string) float64 {
	if how.Similarity != nil {
		return how.Similarity
	}
	return similarityOf(mode)
}

// Score measures a replay of a session that was made in recorded mode.
func Score(s *Session, p *Played, how Measuring) Metrics { return how.score(s, p, Recorded) }

func (how Measuring) score(s *Session, p *Played, mode Mode) Metrics {
	m := Metrics{SessionID: s.ID, FlowID: s.FlowID, Variant: p.Variant, Exhausted: !p.Completed}
	if s.Known() {
		m.CompletionMatch = new(oneIf(s.Completed == p.Completed))
	}
	turns := s.Turns()
	m.TurnCountDiff = new(float64(len(p.Turns) - turns))
	if turns > 0 {
		m.TurnCountRatio = new(float64(len(p.Turns)) / float64(turns))
	}
	if was, is := s.States(how.Side), p.States(); hasStates(was) {
		m.StateProgression = new(how.similarity(mode)(was, is))
		m.FirstDivergence = firstDifference(was, is)
	}
	m.AvgLatencyMS = meanLatency(p.Turns)
	m.P95LatencyMS, m.SlowTurns = tailLatency(p.Turns, cmp.Or(how.Slow, DefaultSlow))
	m.CostUSD = totalCost(p.Turns)
	// replays made elsewhere may have no times
	if n := len(p.Turns); p.Completed && n > 0 && !p.Turns[0].At.IsZero() && !p.Turns[n-1].At.IsZero() {
		m.CompletionSeconds = new(p.Turns[n-1].At.Sub(p.Turns[0].At).Seconds())
	}
	m.DataAccuracy = accuracy(s.Data, p.Data)
	m.Completed = new(oneIf(p.Completed))
	m.EndedEarly = new(oneIf(p.Completed && len(p.Turns) < turns))
	if turns > 0 {
		m.NeverSent = new(float64(max(turns-len(p.Turns), 0)) / float64(turns))
	}
	m.Answered = new(oneIf(p.Error == ""))
	return m
}

func oneIf(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// firstDifference returns the first turn, from 1, at which two sequences differ or one has ended.
func firstDifference(a, b []string) *int {
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			return new(i + 1)
		}
	}
	return nil
}

// meanLatency is over the turns that have one; 0 is one (X18).
func meanLatency(turns []PlayedTurn) *float64 {
	sum, n := 0.0, 0
	for i := range turns {
		if l := turns[i].LatencyMS; l != nil {
			sum += *l
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return new(sum / float64(n))
}

// totalCost returns what the turns cost together; nil without a turn, and where the cost of one is unknown.
func totalCost(turns []PlayedTurn) *float64 {
	sum := 0.0
	for i := range turns {
		if turns[i].CostUSD == nil {
			return nil
		}
		sum += *turns[i].CostUSD
	}
	if len(turns) == 0 {
		return nil
	}
	return &sum
}

// tailLatency returns the 95th percentile of the latencies, by nearest rank, and the share of turns that are slower
// than slow. Turns that could not be taken do not count. Both are nil without a turn, and where a latency is not known.
func tailLatency(turns []PlayedTurn, slow time.Duration) (p95, share *float64) {
	var known []float64
	above := 0
	for i := range turns {
		l := turns[i].LatencyMS
		switch {
		case turns[i].untaken:
			continue
		case l == nil:
			return nil, nil
		case *l > float64(slow)/float64(time.Millisecond):
			above++
		}
		known = append(known, *l)
	}
	if len(known) == 0 {
		return nil, nil
	}
	slices.Sort(known)
	n := len(known)
	return &known[(95*n+99)/100-1], new(float64(above) / float64(n))
}

// Measure fills in the metrics and alignments of a pair's lanes. Pairs that are dropped stay without.
func Measure(s *Session, pair *Pair, how Measuring) {
	if pair.Dropped != "" {
		return
	}
	observed := pair.Variation(Observed)
	common := commonSupport(pair)
	for i := range pair.Variations {
		if lane := &pair.Variations[i]; lane.Name != Observed {
			lane.measure(s, observed, pair.Mode, how, common)
		}
	}
}

func (l *Variation) measure(s *Session, observed *Variation, mode Mode, how Measuring, common []int) {
	p := l.played(s)
	m := how.score(s, p, mode)
	align := stats.Align[string]
	if mode == Forced {
		align = inStep
	}
	was, is := s.States(how.Side), p.States()
	if scores, err := stats.ScoreSequences(was, is); err == nil && hasStates(was) {
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
	m.Tokens = new(0.0)
	var cost chat.Cost
	uncounted := false
	for i := range l.Turns {
		t := &l.Turns[i]
		*m.Tokens += float64(t.Tokens)
		cost = cost.Add(t.Cost)
		uncounted = uncounted || t.Uncounted
	}
	if uncounted {
		m.Tokens = nil
	}
	if !cost.Unknown {
		m.CostUSD = &cost.USD
	}
	m.OnSupport = l.onSupport(&m, was, common, how.similarity(mode))
	l.measureEnd(&m, s, observed, mode)
	m.ReplySimilarity = l.compareReplies(observed)
	l.untold(&m)
	if mode == Recorded && len(l.Turns) < turns {
		m.Exhausted = false // whoever ended the conversation, messages were left
	}
	l.Metrics = &m
}

// compareReplies measures each reply beside the logged one, and returns the mean over the logged replies.
func (l *Variation) compareReplies(observed *Variation) *float64 {
	sum, n := 0.0, 0
	for i := range observed.Turns {
		logged := observed.Turns[i].Bot
		if blank(logged) {
			continue
		}
		n++
		if i < len(l.Turns) {
			l.Turns[i].Similarity = new(grader.LexicalSimilarity(l.Turns[i].Bot, logged))
			sum += *l.Turns[i].Similarity
		}
	}
	if n == 0 {
		return nil
	}
	return new(sum / float64(n))
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
func (l *Variation) played(s *Session) *Played {
	p := &Played{
		SessionID: s.ID, FlowID: s.FlowID, Variant: l.Name, Completed: l.Completed, Data: l.Data,
		Turns: make([]PlayedTurn, len(l.Turns)),
	}
	for i := range l.Turns {
		t := &l.Turns[i]
		p.Turns[i] = PlayedTurn{
			Number: t.Number, State: t.State, Transition: t.Transition, LatencyMS: t.LatencyMS, At: t.Ended,
			untaken: t.Untaken,
		}
	}
	return p
}

// commonSupport returns the indexes of the turns that are supported in every lane.
func commonSupport(pair *Pair) []int {
	var common []int
turns:
	for i := range pair.Variation(Observed).Turns {
		for l := range pair.Variations {
			if turns := pair.Variations[l].Turns; i >= len(turns) || !turns[i].Supported {
				continue turns
			}
		}
		common = append(common, i)
	}
	return common
}

func (l *Variation) onSupport(whole *Metrics, was []string, common []int,
	similarity func(was, is []string) float64) *OnSupport {
	on := &OnSupport{Turns: len(common)}
	if len(common) == len(was) {
		on.CompletionMatch, on.TurnCountRatio, on.DataAccuracy = whole.CompletionMatch, whole.TurnCountRatio,
			whole.DataAccuracy
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
	if whole.StateProgression != nil {
		on.StateProgression = new(similarity(logged, replayed))
	}
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
