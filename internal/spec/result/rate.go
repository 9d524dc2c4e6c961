package result

import "github.com/rehearse-dev/rehearse/internal/base/stats"

// MaxUnknown is the share of unknown tests above which a rate or a mean is not given as one number.
const MaxUnknown = 0.05

// PassRate is the share of tests that passed, as far as it is known. A test is unknown when it ended in an error, was
// skipped because of another test, or was not run. Tests that grade nothing, are in quarantine
// or were spoiled by their simulated user are not counted at all.
type PassRate struct {
	// Rate is over the graded tests; nil when none was graded or more than MaxUnknown of the tests are unknown.
	Rate *float64 `json:"pass_rate"`
	// Bounds are the rates if every unknown test had failed, and if every one had passed; nil when there is no test to
	// count.
	Bounds *[2]float64 `json:"pass_rate_bounds"`
	// Interval is the 95 % interval of Rate: Wilson's, with the effective number of tests where they come in clusters.
	Interval *[2]float64 `json:"pass_rate_interval"`
}

// Known reports whether no test is unknown, so that the bounds coincide.
func (r PassRate) Known() bool { return r.Bounds != nil && r.Bounds[0] == r.Bounds[1] }

// Graded counts the tests that passed or failed.
func (t Totals) Graded() int { return t.Passed + t.Failed }

// Unknown counts the tests whose outcome a rate would need and does not have.
func (t Totals) Unknown() int { return t.Errors + t.Skipped - t.UserInvalid + t.NotRun }

// PassRate returns the pass rate; interval is that over the graded tests.
func (t Totals) PassRate(interval [2]float64) PassRate {
	var r PassRate
	graded, unknown := t.Graded(), t.Unknown()
	if graded+unknown == 0 {
		return r
	}
	r.Bounds = boundsOf(float64(t.Passed), graded, unknown)
	if tellable(graded, unknown) {
		r.Rate, r.Interval = new(float64(t.Passed)/float64(graded)), &interval
	}
	return r
}

// boundsOf returns the means of graded values with this sum and of unknown values between 0 and 1.
func boundsOf(sum float64, graded, unknown int) *[2]float64 {
	n := float64(graded + unknown)
	return &[2]float64{sum / n, (sum + float64(unknown)) / n}
}

// tellable reports whether a mean over the graded tests may stand for all.
func tellable(graded, unknown int) bool {
	return graded > 0 && float64(unknown) <= MaxUnknown*float64(graded+unknown)
}

// TrialTotals says how the trials of a run's tests came out. It is over the tests that ran all of their trials.
type TrialTotals struct {
	// N is the smallest number of trials of a test.
	N int `json:"n"`
	// Tests counts the tests with trials, Unknown those among them with a trial that could not be graded, or that did
	// not run all trials.
	Tests   int `json:"tests"`
	Unknown int `json:"unknown"`
	// PassHatK[k-1] is the mean over tests of the chance that k trials all pass, PassAtK[k-1] that at least one of k
	// passes; nil when more than MaxUnknown of the tests are unknown.
	PassHatK  []float64      `json:"pass_hat_k"`
	PassAtK   []float64      `json:"pass_at_k"`
	Intervals TrialIntervals `json:"intervals"`
	// Conversations counts the graded trials, ConversationsPassed those that passed.
	Conversations       int `json:"conversations"`
	ConversationsPassed int `json:"conversations_passed"`
}

// TrialIntervals are the 95 % intervals of TrialTotals, by tests, or by clusters of tests.
type TrialIntervals struct {
	PassHatK [][2]float64 `json:"pass_hat_k"`
	PassAtK  [][2]float64 `json:"pass_at_k"`
}

// trialSeed makes the intervals of equal runs equal.
const trialSeed = 42

// trialTotals returns the totals of tests of which some ran n trials or more; unknown tests were not graded in all of
// theirs.
func trialTotals(tests []stats.Repeated, clusters []string, unknown int) *TrialTotals {
	t := &TrialTotals{Tests: len(tests) + unknown, Unknown: unknown, PassHatK: []float64{}, PassAtK: []float64{}}
	t.Intervals = TrialIntervals{PassHatK: [][2]float64{}, PassAtK: [][2]float64{}}
	for _, x := range tests {
		t.Conversations += x.N
		t.ConversationsPassed += x.Passed
		if t.N == 0 || x.N < t.N {
			t.N = x.N
		}
	}
	if !tellable(len(tests), unknown) {
		t.PassHatK, t.PassAtK = nil, nil
		return t
	}
	for k := 1; k <= t.N; k++ {
		r := stats.RepeatRateOf(tests, clusters, k, trialSeed)
		t.PassHatK, t.PassAtK = append(t.PassHatK, r.PassHat), append(t.PassAtK, r.PassAt)
		t.Intervals.PassHatK = append(t.Intervals.PassHatK, r.PassHatInterval)
		t.Intervals.PassAtK = append(t.Intervals.PassAtK, r.PassAtInterval)
	}
	return t
}
