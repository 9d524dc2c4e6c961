package replay

import "math"

// The rules by which a candidate passes.
const (
	turnMargin    = 1.1 // of the baseline's turn count ratio
	latencyMargin = 1.2 // of the baseline's latency
	passShare     = 0.7 // of the metrics that apply
	leastMatch    = 0.8 // completion match, whatever the baseline's
)

// rounding is how far apart two means may be, in parts of them, that are the same: a sum depends on the order of what
// is added.
const rounding = 1e-12

// Mean is a mean over the sessions to which a metric applies; without any it is nil.
type Mean struct {
	Value *float64 `json:"value"`
	N     int      `json:"n"`

	sum float64
}

func (m *Mean) add(value *float64) {
	if value == nil {
		return
	}
	m.N++
	m.sum += *value
	m.Value = new(m.sum / float64(m.N))
}

// Names of metrics, as they are written.
const (
	CompletionMatch   = "completion_match"
	TurnCountDiff     = "turn_count_diff"
	TurnCountRatio    = "turn_count_ratio"
	StateProgression  = "state_progression_match"
	AvgLatency        = "avg_latency_ms"
	CompletionSeconds = "completion_time_seconds"
	DataAccuracy      = "data_collection_accuracy"
	CompletedShare    = "completed"
	Answered          = "answered"
	EndedEarly        = "ended_early"
	MessagesUnsent    = "messages_never_said"
	SupportCoverage   = "support_coverage"
	P95Latency        = "p95_latency_ms"
	SlowTurns         = "slow_turns"
	CostUSD           = "cost_usd"
	ReplySimilarity   = "reply_similarity"
	ReplyWinRate      = "reply_win_rate"
)

// MetricNames lists S4's metrics in the order of their report.
var MetricNames = []string{
	CompletionMatch, TurnCountDiff, TurnCountRatio, StateProgression, AvgLatency, CompletionSeconds, DataAccuracy,
}

// Means are the means of one variant, by metric.
type Means map[string]*Mean

// Add takes the metrics of one session, once for each time that it was played: the mean over the times counts.
func (m Means) Add(times ...*Metrics) {
	for _, name := range MetricNames {
		if m[name] == nil {
			m[name] = &Mean{}
		}
		row := make([]float64, len(times))
		for i, s := range times {
			row[i] = orNaN(table[columnOf(name)].of(s))
		}
		m[name].add(meanOf(row))
	}
}

// Comparison is the verdict of the specification's gate.
type Comparison struct {
	// Tests hold the metrics that apply to both.
	Tests       map[string]bool `json:"tests"`
	PassedRatio float64         `json:"passed_ratio"`
	// Passed is true when enough tests are; Hard when the candidate's completion match is high enough by itself.
	Passed bool `json:"passed"`
	Hard   bool `json:"hard_requirement"`
}

// Compare applies the gate to the means of two variants on the same sessions.
func Compare(baseline, candidate Means) Comparison {
	c := Comparison{Tests: map[string]bool{}}
	passed := 0
	test := func(metric string, good func(candidate, baseline float64) bool) {
		was, is := baseline.value(metric), candidate.value(metric)
		if was == nil || is == nil {
			return
		}
		c.Tests[metric] = good(*is, *was)
		if c.Tests[metric] {
			passed++
		}
	}
	atMost := func(a, b float64) bool { return a <= b+rounding*math.Abs(b) }
	atLeast := func(candidate, baseline float64) bool { return atMost(baseline, candidate) }
	test(CompletionMatch, atLeast)
	test(TurnCountRatio, func(candidate, baseline float64) bool { return atMost(candidate, baseline*turnMargin) })
	test(StateProgression, atLeast)
	test(AvgLatency, func(candidate, baseline float64) bool { return atMost(candidate, baseline*latencyMargin) })
	if len(c.Tests) > 0 {
		c.PassedRatio = float64(passed) / float64(len(c.Tests))
		c.Passed = c.PassedRatio >= passShare
	}
	if match := candidate.value(CompletionMatch); match != nil {
		c.Hard = *match >= leastMatch
	}
	return c
}

func (m Means) value(metric string) *float64 {
	if m[metric] == nil {
		return nil
	}
	return m[metric].Value
}
