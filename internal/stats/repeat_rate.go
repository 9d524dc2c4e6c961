package stats

// Repeated is a test that was run N times and passed Passed times.
type Repeated struct{ N, Passed int }

// RepeatRate is pass^k and pass@k over many tests.
type RepeatRate struct {
	// K is the number of trials, Tests the number of tests with at least as many; the means are over these.
	K, Tests int
	// PassHat is the mean chance that K trials of a test all pass, PassAt the mean chance that at least one does, each with a 95 % interval.
	PassHat, PassAt                 float64
	PassHatInterval, PassAtInterval [2]float64
}

// RepeatRateOf computes pass^k and pass@k over tests. Tests with fewer than k trials are left out.
// The intervals say how the means would vary over other tests like these: they resample tests, not trials.
//
// Source: as for PassHatK, PassAtK and, for the intervals, estimateOf; Wilson's where all tests are at 0 or all at 1.
func RepeatRateOf(tests []Repeated, k int, seed uint64) RepeatRate {
	r := RepeatRate{K: k}
	var hat, at []clusterSum
	for _, t := range tests {
		if k >= 1 && t.N >= k {
			r.Tests++
			hat = append(hat, clusterSum{1, PassHatK(t.N, t.Passed)[k-1]})
			at = append(at, clusterSum{1, PassAtK(t.N, t.Passed)[k-1]})
		}
	}
	r.PassHat, r.PassHatInterval = meanChance(hat, seed)
	r.PassAt, r.PassAtInterval = meanChance(at, seed)
	return r
}

// meanChance returns the mean of chances, one for each test, with its interval within [0, 1].
func meanChance(chances []clusterSum, seed uint64) (mean float64, interval [2]float64) {
	if len(chances) == 0 {
		return 0, [2]float64{0, 1}
	}
	s := estimateOf(chances, Resamples, seed)
	if s.alike() && (s.mean <= 0 || s.mean >= 1) {
		return s.mean, wilson95(s.mean, float64(len(chances)))
	}
	interval = s.interval()
	return s.mean, [2]float64{max(interval[0], 0), min(interval[1], 1)}
}
