package replay

import "github.com/rehearse-dev/rehearse/internal/base/stats"

// Seed is that of samples, of the order of lanes and of bootstraps.
const Seed = 42

// harmlessLatency is a difference in milliseconds below which no mean latency is harm.
const harmlessLatency = 100

// unnoticedLatency is a latency in milliseconds too short to be noticed. Where a turn takes microseconds, a fifth more
// of it is no loss, and what the lane that happens to go first pays for warming up is no difference.
const unnoticedLatency = 10

// role is what a metric does in the paired gate.
type role int

const (
	shown   role = iota // it decides nothing
	decides             // the candidate passes by it
	guards              // the candidate can fail by it, and never passes by it
)

// metric is one figure of a lane in a session.
type metric struct {
	name          string
	unit          Unit
	lowerIsBetter bool
	// passFail is true of metrics that are 1 or 0 in each session.
	passFail bool
	role     role
	// margin is the loss that does not matter.
	margin stats.Margin
	// unnoticed is the difference within one session below which there is none.
	unnoticed float64
	// harmless is the mean difference below which the metric is never worse.
	harmless float64
	// everyPair is true of a metric that lost pairs count in, too.
	everyPair bool
	// apart is true where the two agents cannot be compared by it.
	apart bool
	// path is true of a metric on the path of a conversation: its states and turns.
	path bool
	// byMargin is true of a guard that a margin of the run's own lets decide, as it does any metric that is only shown.
	byMargin bool

	of        func(*Metrics) *float64
	onSupport func(*OnSupport) *float64
}

// span is the distance between the ends of a metric's scale, 0 when it has none (statistics.md, "No variation").
func (m *metric) span() float64 {
	if m.unit == Share || m.unit == Ratio {
		return 1
	}
	return 0
}

// fivePoints is the loss of a share that does not matter.
var fivePoints = stats.Margin{Absolute: 0.05}

// slower is the loss of latency that does not matter.
var slower = stats.Margin{Relative: latencyMargin - 1, Absolute: unnoticedLatency}

// table lists the metrics of a report in its order, with their roles and margins. A new metric is a line here.
var table = []metric{
	{
		name: CompletionMatch, unit: Share, passFail: true, role: decides, margin: fivePoints,
		of:        func(m *Metrics) *float64 { return m.CompletionMatch },
		onSupport: func(s *OnSupport) *float64 { return s.CompletionMatch },
	},
	{
		name: TurnCountRatio, unit: Ratio, lowerIsBetter: true, role: decides, path: true,
		margin: stats.Margin{Relative: turnMargin - 1}, of: func(m *Metrics) *float64 { return m.TurnCountRatio },
		onSupport: func(s *OnSupport) *float64 { return s.TurnCountRatio },
	},
	{
		name: StateProgression, unit: Share, role: decides, path: true, margin: fivePoints,
		of:        func(m *Metrics) *float64 { return m.StateProgression },
		onSupport: func(s *OnSupport) *float64 { return s.StateProgression },
	},
	{
		name: AvgLatency, unit: Milliseconds, lowerIsBetter: true, role: decides,
		unnoticed: unnoticedLatency, harmless: harmlessLatency, margin: slower,
		of:        func(m *Metrics) *float64 { return m.AvgLatencyMS },
		onSupport: func(s *OnSupport) *float64 { return s.AvgLatencyMS },
	},
	{
		name: P95Latency, unit: Milliseconds, lowerIsBetter: true, role: guards, byMargin: true,
		unnoticed: unnoticedLatency, harmless: harmlessLatency, margin: slower,
		of: func(m *Metrics) *float64 { return m.P95LatencyMS },
	},
	{
		name: SlowTurns, unit: Share, lowerIsBetter: true, role: guards, byMargin: true,
		margin: stats.Margin{Absolute: 0.005}, of: func(m *Metrics) *float64 { return m.SlowTurns },
	},
	{name: Answered, unit: Share, passFail: true, role: guards, everyPair: true, of: func(m *Metrics) *float64 {
		return m.Answered
	}},
	{
		name: EndedEarly, unit: Share, passFail: true, lowerIsBetter: true, role: guards, margin: fivePoints,
		of: func(m *Metrics) *float64 { return m.EndedEarly },
	},
	{
		name: MessagesUnsent, unit: Share, lowerIsBetter: true, role: guards, margin: fivePoints,
		of: func(m *Metrics) *float64 { return m.NeverSent },
	},
	{
		name: CompletedShare, unit: Share, passFail: true, role: guards, byMargin: true, margin: fivePoints,
		of: func(m *Metrics) *float64 { return m.Completed },
	},
	{name: "completed_on_path", unit: Share, passFail: true, of: func(m *Metrics) *float64 {
		return m.CompletedOnPath
	}},
	{name: "completed_off_path", unit: Share, passFail: true, lowerIsBetter: true, of: func(m *Metrics) *float64 {
		return m.CompletedOffPath
	}},
	{
		name: DataAccuracy, unit: Share, role: guards, byMargin: true, margin: fivePoints,
		of:        func(m *Metrics) *float64 { return m.DataAccuracy },
		onSupport: func(s *OnSupport) *float64 { return s.DataAccuracy },
	},
	{name: "data_collection_accuracy_normalised", unit: Share, of: func(m *Metrics) *float64 {
		return m.NormalAccuracy
	}},
	{name: ReplySimilarity, unit: Share, of: func(m *Metrics) *float64 { return m.ReplySimilarity }},
	{
		name: ReplyWinRate, unit: Share, byMargin: true, margin: stats.Margin{Absolute: 0.1},
		of: func(m *Metrics) *float64 { return m.ReplyWinRate },
	},
	{name: SupportCoverage, unit: Share, of: func(m *Metrics) *float64 { return m.SupportCoverage }},
	{
		name: "first_divergence_turn", unit: Turns, of: func(m *Metrics) *float64 {
			if m.FirstDivergence == nil {
				return nil
			}
			return new(float64(*m.FirstDivergence))
		},
	},
	{
		name: TurnCountDiff, unit: Turns, lowerIsBetter: true, path: true,
		of: func(m *Metrics) *float64 { return m.TurnCountDiff },
	},
	{
		name: "turn_count_off", unit: Ratio, lowerIsBetter: true, path: true,
		of: func(m *Metrics) *float64 { return distanceFromOne(m.TurnCountRatio) },
	},
	{name: "user_turns_exhausted", unit: Share, lowerIsBetter: true, passFail: true, of: exhausted},
	{name: CompletionSeconds, unit: Seconds, lowerIsBetter: true, of: func(m *Metrics) *float64 {
		return m.CompletionSeconds
	}},
	{
		name: "states_lcs", unit: Share, path: true,
		of: sequence(func(s *stats.SequenceScores) float64 { return s.LCS }),
	},
	{
		name: "states_needleman_wunsch", unit: Share, path: true,
		of: sequence(func(s *stats.SequenceScores) float64 { return s.NeedlemanWunsch }),
	},
	{
		name: "states_by_turn", unit: Share, path: true,
		of: sequence(func(s *stats.SequenceScores) float64 { return s.Positional }),
	},
	{
		name: "states_exact", unit: Share, passFail: true, path: true,
		of: sequence(func(s *stats.SequenceScores) float64 { return oneIf(s.Exact) }),
	},
	{
		name: "states_in_order", unit: Share, passFail: true, path: true,
		of: sequence(func(s *stats.SequenceScores) float64 { return oneIf(s.InOrder) }),
	},
	{
		name: "states_any_order", unit: Share, passFail: true, path: true,
		of: sequence(func(s *stats.SequenceScores) float64 { return oneIf(s.AnyOrder) }),
	},
	{
		name: "states_precision", unit: Share, path: true,
		of: sequence(func(s *stats.SequenceScores) float64 { return s.Precision }),
	},
	{
		name: "states_recall", unit: Share, path: true,
		of: sequence(func(s *stats.SequenceScores) float64 { return s.Recall }),
	},
	{name: "tokens", unit: Tokens, lowerIsBetter: true, of: func(m *Metrics) *float64 { return m.Tokens }},
	{
		name: CostUSD, unit: USD, lowerIsBetter: true, role: guards, byMargin: true,
		margin: stats.Margin{Relative: 0.2}, of: func(m *Metrics) *float64 { return m.CostUSD },
	},
}

// exhausted is nil of a lane that cannot complete.
func exhausted(m *Metrics) *float64 {
	if m.Completed == nil && !m.Censored {
		return nil
	}
	return new(oneIf(m.Exhausted))
}

// columnOf returns the place of a metric in the table, -1 when there is none of that name.
func columnOf(name string) int {
	for i := range table {
		if table[i].name == name {
			return i
		}
	}
	return -1
}

func sequence(of func(*stats.SequenceScores) float64) func(*Metrics) *float64 {
	return func(m *Metrics) *float64 {
		if m.Sequence == nil {
			return nil
		}
		return new(of(m.Sequence))
	}
}

// distanceFromOne is how far a ratio is from the ideal (X17).
func distanceFromOne(ratio *float64) *float64 {
	if ratio == nil {
		return nil
	}
	return new(max(*ratio-1, 1-*ratio))
}
