package stats

// PassHatK returns, for k = 1…n at index k-1, the chance that k trials all passed, drawn from n trials of which c
// passed: C(c,k) / C(n,k). It is the unbiased estimate of k passes in a row ("pass^k"). It is nil for n ≤ 0; c is
// clamped to [0, n].
//
// The quotient is built as the product of (c-i)/(n-i), which is exact up to rounding and needs no large numbers.
//
// Source: S. Yao et al., τ-bench: A Benchmark for Tool-Agent-User Interaction in Real-World Domains (2024).
func PassHatK(n, c int) []float64 {
	if n <= 0 {
		return nil
	}
	c = min(max(c, 0), n)
	out := make([]float64, n)
	all := 1.0
	for i := range n {
		all *= float64(max(c-i, 0)) / float64(n-i)
		out[i] = all
	}
	return out
}

// PassAtK returns, for k = 1…n at index k-1, the chance that at least one of k trials passed, drawn from n trials of
// which c passed: 1 - C(n-c,k) / C(n,k) ("pass@k"). It is nil for n ≤ 0; c is clamped to [0, n].
//
// Source: M. Chen et al., Evaluating Large Language Models Trained on Code (2021), section 2.1.
func PassAtK(n, c int) []float64 {
	if n <= 0 {
		return nil
	}
	c = min(max(c, 0), n)
	out := make([]float64, n)
	// none is the chance that no trial has passed so far. Adding each further trial's share, instead of subtracting
	// none from 1, keeps small values exact.
	some, none := 0.0, 1.0
	for i := range n {
		some += none * min(float64(c)/float64(n-i), 1)
		none *= float64(max(n-c-i, 0)) / float64(n-i)
		out[i] = min(some, 1)
		if i >= n-c {
			out[i] = 1
		}
	}
	return out
}

// The classes of a repeated test.
const (
	StablePass = "stable_pass"
	StableFail = "stable_fail"
	Flaky      = "flaky"
)

// Class returns StablePass if all of n trials passed, StableFail if none did, Flaky if outcomes differ, and "" without
// trials.
func Class(passed, n int) string {
	switch {
	case n <= 0:
		return ""
	case passed <= 0:
		return StableFail
	case passed >= n:
		return StablePass
	}
	return Flaky
}

// Repeated is a test that was run N times and passed Passed times.
type Repeated struct{ N, Passed int }

// RepeatRate is pass^k and pass@k over many tests.
type RepeatRate struct {
	// K is the number of trials, Tests the number of tests with at least as many; the means are over these.
	K, Tests int
	// PassHat is the mean chance that K trials of a test all pass, PassAt the mean chance that at least one does, each
	// with a 95 % interval.
	PassHat, PassAt                 float64
	PassHatInterval, PassAtInterval [2]float64
}

// RepeatRateOf computes pass^k and pass@k over tests. Tests with fewer than k trials are left out. clusters has a name
// for each test, those of tests that depend on each other alike and empty for a test on its own; nil if all are on
// their own. The intervals say how the means would vary over other tests like these: they resample clusters, not
// trials.
//
// Source: as for PassHatK, PassAtK and, for the intervals, halfMeans; Student's t below six clusters, and Wilson's
// where all are at 0 or all at 1.
func RepeatRateOf(tests []Repeated, clusters []string, k int, seed uint64) RepeatRate {
	r := RepeatRate{K: k}
	var hat, at []clusterSum
	places := map[string]int{}
	for i, t := range tests {
		if k < 1 || t.N < k {
			continue
		}
		r.Tests++
		place, known := len(hat), false
		if clusters != nil && clusters[i] != "" {
			if place, known = places[clusters[i]]; !known {
				place = len(hat)
				places[clusters[i]] = place
			}
		}
		if !known {
			hat, at = append(hat, clusterSum{}), append(at, clusterSum{})
		}
		hat[place] = hat[place].plus(PassHatK(t.N, t.Passed)[k-1])
		at[place] = at[place].plus(PassAtK(t.N, t.Passed)[k-1])
	}
	r.PassHat, r.PassHatInterval = meanChance(hat, seed)
	r.PassAt, r.PassAtInterval = meanChance(at, seed)
	return r
}

// plus returns the sum with one more observation.
func (c clusterSum) plus(x float64) clusterSum { return clusterSum{c.n + 1, c.sum + x} }

// meanChance returns the mean of chances, one for each test, in clusters, with its interval within [0, 1].
func meanChance(chances []clusterSum, seed uint64) (mean float64, interval [2]float64) {
	if len(chances) == 0 {
		return 0, [2]float64{0, 1}
	}
	s := clusteredMean(chances)
	switch {
	case s.alike() && (s.mean <= 0 || s.mean >= 1):
		return s.mean, wilson95(s.mean, float64(len(chances)))
	case s.clusters >= minAlike && !s.alike():
		s.resampled = halfMeans([][]clusterSum{chances}, Resamples, seed)[0]
	}
	interval = s.interval()
	return s.mean, [2]float64{max(interval[0], 0), min(interval[1], 1)}
}
