package replay

import "rehearse/internal/stats"

// Seed is that of samples, of the order of lanes and of bootstraps (S4.5).
const Seed = 42

// unnoticedLatency is a latency in milliseconds too short to be noticed. Where a turn takes microseconds, a fifth more of it is no loss, and what the lane
// that happens to go first pays for warming up is no difference.
const unnoticedLatency = 10

// metric is one figure of a lane in a session.
type metric struct {
	name          string
	unit          Unit
	lowerIsBetter bool
	// passFail is true of metrics that are 1 or 0 in each session.
	passFail bool
	// gated metrics decide; margin is the loss that S4.28 tolerates, and marginText says it.
	gated      bool
	margin     stats.Margin
	marginText string
	// unnoticed is the difference within one session below which there is none.
	unnoticed float64

	of        func(*Metrics) *float64
	onSupport func(*OnSupport) *float64
}

// table lists the metrics of a report in its order. A new metric is a line here.
var table = []metric{
	{
		name: CompletionMatch, unit: Share, passFail: true, gated: true, marginText: "none",
		of: func(m *Metrics) *float64 { return m.CompletionMatch }, onSupport: func(s *OnSupport) *float64 { return s.CompletionMatch },
	},
	{
		name: TurnCountRatio, unit: Ratio, lowerIsBetter: true, gated: true, margin: stats.Margin{Relative: turnMargin - 1}, marginText: "10 % of the baseline",
		of: func(m *Metrics) *float64 { return m.TurnCountRatio }, onSupport: func(s *OnSupport) *float64 { return s.TurnCountRatio },
	},
	{
		name: StateProgression, unit: Share, gated: true, marginText: "none",
		of: func(m *Metrics) *float64 { return m.StateProgression }, onSupport: func(s *OnSupport) *float64 { return s.StateProgression },
	},
	{
		name: AvgLatency, unit: Milliseconds, lowerIsBetter: true, gated: true, margin: stats.Margin{Relative: latencyMargin - 1, Absolute: unnoticedLatency}, marginText: "20 % of the baseline and 10 ms", unnoticed: unnoticedLatency,
		of: func(m *Metrics) *float64 { return m.AvgLatencyMS }, onSupport: func(s *OnSupport) *float64 { return s.AvgLatencyMS },
	},
	{name: "support_coverage", unit: Share, of: func(m *Metrics) *float64 { return m.SupportCoverage }},
	{name: TurnCountDiff, unit: Turns, of: func(m *Metrics) *float64 { return m.TurnCountDiff }},
	{
		name: "turn_count_off", unit: Ratio, lowerIsBetter: true,
		of: func(m *Metrics) *float64 { return distanceFromOne(m.TurnCountRatio) },
	},
	{name: "user_turns_exhausted", unit: Share, lowerIsBetter: true, passFail: true, of: func(m *Metrics) *float64 { return new(oneIf(m.Exhausted)) }},
	{
		name: DataAccuracy, unit: Share,
		of: func(m *Metrics) *float64 { return m.DataAccuracy }, onSupport: func(s *OnSupport) *float64 { return s.DataAccuracy },
	},
	{name: "data_collection_accuracy_normalised", unit: Share, of: func(m *Metrics) *float64 { return m.NormalAccuracy }},
	{name: CompletionSeconds, unit: Seconds, lowerIsBetter: true, of: func(m *Metrics) *float64 { return m.CompletionSeconds }},
	{name: "states_lcs", unit: Share, of: sequence(func(s *stats.SequenceScores) float64 { return s.LCS })},
	{name: "states_needleman_wunsch", unit: Share, of: sequence(func(s *stats.SequenceScores) float64 { return s.NeedlemanWunsch })},
	{name: "states_by_turn", unit: Share, of: sequence(func(s *stats.SequenceScores) float64 { return s.Positional })},
	{name: "states_exact", unit: Share, passFail: true, of: sequence(func(s *stats.SequenceScores) float64 { return oneIf(s.Exact) })},
	{name: "states_in_order", unit: Share, passFail: true, of: sequence(func(s *stats.SequenceScores) float64 { return oneIf(s.InOrder) })},
	{name: "states_any_order", unit: Share, passFail: true, of: sequence(func(s *stats.SequenceScores) float64 { return oneIf(s.AnyOrder) })},
	{name: "states_precision", unit: Share, of: sequence(func(s *stats.SequenceScores) float64 { return s.Precision })},
	{name: "states_recall", unit: Share, of: sequence(func(s *stats.SequenceScores) float64 { return s.Recall })},
	{name: "tokens", unit: Tokens, lowerIsBetter: true, of: func(m *Metrics) *float64 { return m.Tokens }},
	{name: "cost_usd", unit: USD, lowerIsBetter: true, of: func(m *Metrics) *float64 { return m.CostUSD }},
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
