package pages

import (
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/run/runindex"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/web/pages/frame"
)

// metric is a number of a comparison over the tests that were graded in both runs.
type metric struct {
	Name, Label         string
	Meaning             string // what is counted, where the label does not say it
	A, B, Diff          string // as attributes have them
	Low, High           string // bounds of the difference; empty while it has none
	N                   int
	Result              string
	ShownA, ShownB      string
	ShownDiff, Interval string
	// Unseen says which loss could have gone unnoticed.
	Unseen string
}

// measures are what metrics compare of a test. Those of a trial have no figures.
type measures struct {
	*runindex.Figures
	verdict result.Verdict
	target  string
}

// pair is a test that was graded in two runs, and the number of its cluster.
type pair struct {
	a, b    *measures
	cluster int
}

// measured are the metrics of a comparison: how each is read of a test, and how it is compared and shown. Scores are
// those that were matched.
var measured = []struct {
	name, label string
	of          func(*measures) float64
	by          stats.Criterion
	show        func(float64) string
}{
	{
		"pass_rate", "Pass rate", func(m *measures) float64 { return oneIf(m.verdict == result.Pass) },
		stats.Criterion{PassFail: true, Range: 1, Seed: 42}, text.Percent,
	},
	{"score", "Score", nil, stats.Criterion{PassFail: true, Range: 1, Seed: 42}, func(x float64) string {
		return text.Score(x, 2)
	}},
	{
		"latency_ms", "Latency of a turn", func(m *measures) float64 { return m.TurnMS },
		stats.Criterion{LowerIsBetter: true, Seed: 42}, text.Milliseconds,
	},
	{
		"turns", "Turns", func(m *measures) float64 { return m.Turns }, stats.Criterion{LowerIsBetter: true, Seed: 42},
		shortly,
	},
	{"tokens", "Tokens", func(m *measures) float64 { return m.Tokens }, stats.Criterion{
		LowerIsBetter: true, Seed: 42,
	}, shortly},
	{"cost_usd", "Cost", func(m *measures) float64 { return m.CostUSD }, stats.Criterion{
		LowerIsBetter: true, Seed: 42,
	}, text.Dollars},
}

func oneIf(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

func shortly(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) }

// metricsOf compares the tests of two runs in every metric, and in their scores by another criterion. One draw serves
// all.
func metricsOf(pairs []pair, scores stats.Metric) (metrics []metric, ofScores stats.Difference) {
	compared := make([]stats.Metric, len(measured), len(measured)+1)
	var all sync.WaitGroup
	for i, m := range measured {
		all.Go(func() {
			if compared[i] = (stats.Metric{Pairs: scores.Pairs, Criterion: m.by}); m.of == nil {
				return
			}
			compared[i].Pairs = stats.NewPairs(len(pairs))
			for _, p := range pairs {
				if x, y := m.of(p.a), m.of(p.b); !math.IsNaN(x) && !math.IsNaN(y) {
					compared[i].Pairs.AddNumbered(p.cluster, x, y)
				}
			}
		})
	}
	all.Wait()
	differences := stats.CompareAll(append(compared, scores))
	for i, m := range measured {
		metrics = append(metrics, shownMetric(differences[i], m.name, m.label, m.show))
	}
	return metrics, differences[len(measured)]
}

func shownMetric(d stats.Difference, name, label string, show func(float64) string) metric {
	m := metric{
		Name: name, Label: label, N: d.N, Result: string(stats.Inconclusive), ShownA: "unknown", ShownB: "unknown",
		ShownDiff: "unknown",
	}
	if d.N == 0 {
		return m
	}
	m.A, m.B, m.Diff = frame.Plain(d.Baseline), frame.Plain(d.Candidate), frame.Plain(d.Mean)
	m.ShownA, m.ShownB, m.ShownDiff = show(d.Baseline), show(d.Candidate), signed(d.Mean, show)
	if d.Verdict == stats.Better || d.Verdict == stats.Worse {
		m.Result = string(d.Verdict)
	}
	if low, high := d.Interval[0], d.Interval[1]; d.N > 1 && !math.IsInf(low, 0) && !math.IsInf(high, 0) {
		m.Low, m.High, m.Interval = frame.Plain(low), frame.Plain(high), signed(low, show)+" to "+signed(high, show)
	}
	switch {
	case m.Result != string(stats.Inconclusive):
	case math.IsInf(d.Detectable, 0) || d.N < 2:
		m.Unseen = "too few tests to notice any loss"
	default:
		m.Unseen = "a loss of up to " + show(d.Detectable) + " could have gone unnoticed"
	}
	return m
}

// signed writes a difference with its sign. What is shown as 0, or as less than the smallest unit, has none.
func signed(x float64, show func(float64) string) string {
	if shown := show(max(x, -x)); shown == show(0) || strings.HasPrefix(shown, "<") {
		return shown
	}
	if x < 0 {
		return "−" + show(-x)
	}
	return "+" + show(x)
}
