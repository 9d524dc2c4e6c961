package stats_test

import (
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
	"github.com/rehearse-dev/rehearse/internal/testkit/race"
)

// The tests of honesty simulate evaluations of which the truth is known, with fixed seeds. Complete test runs
// (REHEARSE_TEST_COMPLETE) take as many as the specification asks for. Other runs have a tenth of them, and so, but for
// TestNullVerdicts, has the race detector, with which all takes ten times as long; they allow for what that leaves to
// chance.

func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, seed)) }

func complete() bool { return os.Getenv("REHEARSE_TEST_COMPLETE") != "" && !testing.Short() }

// runs returns how many of full evaluations to simulate.
func runs(full int) int {
	if !complete() || race.Enabled {
		return full / 10
	}
	return full
}

// few resamples are enough for one of many simulated evaluations.
const few = 999

// within fails unless the share of what happened in n simulated evaluations, in percent, is between low and high.
func within(t *testing.T, what string, happened, n int, low, high float64) {
	t.Helper()
	share, chance := 100*float64(happened)/float64(n), 0.0
	if !complete() || race.Enabled {
		chance = 300 * math.Sqrt((low+high)/200*(1-(low+high)/200)/float64(n))
	}
	if share < low-chance || share > high+chance {
		t.Errorf("%s: %.1f %% of %d, not between %v and %v", what, share, n, low, high)
	}
	t.Logf("%s: %.1f %% of %d", what, share, n)
}

func decided(v stats.Verdict) bool { return v == stats.Better || v == stats.Worse }

// TestNullVerdicts: of two systems that are the same, 50 conversations of ten turns find one better in 3–7 % of all
// evaluations. Whoever takes turns for independent finds it in 47 %: with a design effect of 1 + 9·0.7 that is 2·(1 −
// Φ(1.96/√7.3)).
func TestNullVerdicts(t *testing.T) {
	r, n, resamples := random(31), runs(2_000), 0
	if race.Enabled && complete() {
		n, resamples = 2_000, few
	}
	wrong, naive := 0, 0
	for range n {
		var p stats.Pairs
		correlated(0).add(r, &p, 50)
		if d := p.Compare(stats.Criterion{Seed: 42, Resamples: resamples}); decided(d.Verdict) {
			wrong++
		}
		p = stats.Pairs{}
		var turns []float64
		for range 50 {
			shared := math.Sqrt(0.7) * r.NormFloat64()
			for range 10 {
				turns = append(turns, shared+math.Sqrt(0.3)*r.NormFloat64())
			}
		}
		if i := stats.TInterval(turns); i[0] > 0 || i[1] < 0 {
			naive++
		}
	}
	within(t, "clustered verdicts that are wrong", wrong, n, 3, 7)
	within(t, "naive verdicts that are wrong", naive, n, 40, 50)
}

// TestCoverage: 93–97 % of all intervals hold the true difference. Few scores that mostly do not differ make them wider
// than they need be.
func TestCoverage(t *testing.T) {
	for i, d := range []design{
		correlated(0.3), unequal(), latencies(1), latencies(1.2), grades(), passes(0.8, 0.5, -0.1),
	} {
		for _, clusters := range []int{20, 49, 50, 100} {
			r, n := random(uint64(1000*i+clusters)), runs(1_000)
			holds := 0
			for range n {
				var p stats.Pairs
				d.add(r, &p, clusters)
				is := p.Compare(stats.Criterion{PassFail: d.passFail, Seed: 42, Resamples: few})
				if is.Interval[0] <= d.truth && d.truth <= is.Interval[1] {
					holds++
				}
			}
			high := 97.0
			if d.coarse && clusters < 49 {
				high = 99
			}
			within(t, d.name+", "+strconv.Itoa(clusters), holds, n, 93, high)
		}
	}
}

// TestPower: a true difference as large as what is printed as detectable is found in 77–83 % of all evaluations.
func TestPower(t *testing.T) {
	for i, tc := range []struct {
		design
		with     func(truth float64) design
		clusters int
	}{
		{correlated(0), correlated, 10},
		{correlated(0), correlated, 50},
		{passes(0.5, 0.5, 0), func(truth float64) design { return passes(0.5, 0.5, 2*truth) }, 100},
		{passes(0.5, 0.5, 0), func(truth float64) design { return passes(0.5, 0.5, 2*truth) }, 250},
	} {
		r, n := random(uint64(41+i)), runs(2_000)
		compare := func(d design) stats.Difference {
			var p stats.Pairs
			d.add(r, &p, tc.clusters)
			return p.Compare(stats.Criterion{PassFail: d.passFail, Seed: 42, Resamples: few})
		}
		printed, evaluations := 0.0, n/4
		for range evaluations {
			printed += compare(tc.design).Detectable / float64(evaluations)
		}
		found := 0
		for range n {
			if compare(tc.with(printed)).Verdict == stats.Better {
				found++
			}
		}
		within(t, tc.name+", "+strconv.Itoa(tc.clusters), found, n, 77, 83)
	}
}

// TestSameTwice plays one system twice and compares it in the four metrics of S4 with their margins: each is worse in
// at most 2.5 % of all evaluations, and the candidate better in at most 5 %.
func TestSameTwice(t *testing.T) {
	metrics := []struct {
		design
		criterion stats.Criterion
	}{
		{passes(0.85, 0.3, 0), stats.Criterion{PassFail: true}},
		// stands for turn_count_ratio
		{latencies(1), stats.Criterion{LowerIsBetter: true, Margin: stats.Margin{Relative: 0.1}}},
		// state_progression_match
		{grades(), stats.Criterion{}},
		{latencies(1), stats.Criterion{LowerIsBetter: true, Margin: stats.Margin{Relative: 0.2}}},
	}
	for _, clusters := range []int{30, 100} {
		r, n := random(uint64(51+clusters)), runs(1_000)
		worse, better := make([]int, len(metrics)), 0
		for range n {
			var all []stats.Difference
			for i, m := range metrics {
				var p stats.Pairs
				m.add(r, &p, clusters)
				m.criterion.Seed, m.criterion.Resamples = 42, few
				d := p.Compare(m.criterion)
				if all = append(all, d); d.Verdict == stats.Worse {
					worse[i]++
				}
			}
			if stats.Decide(all) == stats.Better {
				better++
			}
		}
		for i := range metrics {
			// 2.5, and what a thousand leave to chance
			within(t, metrics[i].name+" worse, "+strconv.Itoa(clusters), worse[i], n, 0, 3.5)
		}
		within(t, "better, "+strconv.Itoa(clusters), better, n, 0, 5)
	}
}
