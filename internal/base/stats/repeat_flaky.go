package stats

import "math"

// Flakiness is how stable one test is over its trials.
type Flakiness struct {
	// Class is StablePass, StableFail or Flaky, or "" without trials.
	Class string `json:"class"`
	// Rate is the share of trials that passed, Interval its 95 % interval. Five passes of five are a stable pass so
	// far, but the interval begins at 0.57; RuleOfThree says how many more trials certainty would need.
	Rate     float64    `json:"rate"`
	Interval [2]float64 `json:"interval"`
}

// FlakinessOf classifies a test that passed in passed of n trials.
//
// Source: as for Wilson; Class.
func FlakinessOf(passed, n int) Flakiness {
	passed = min(max(passed, 0), max(n, 0))
	return Flakiness{Class: Class(passed, n), Rate: ratio(passed, max(n, 0)), Interval: Wilson(passed, n)}
}

// Rejudged is one frozen transcript of a test, with the number of its verdicts and how many of them passed.
type Rejudged struct{ Passed, Verdicts int }

// Attribution says where a flaky test's variation comes from.
type Attribution struct {
	// Transport is the share of trials that ended without a transcript, for reasons of network, quota or time, and
	// TransportInterval its interval.
	Transport         float64
	TransportInterval [2]float64
	// Agent is the variance of verdicts between transcripts, Judge the variance between verdicts on one transcript.
	// Their sum is the variance of a single judged trial.
	Agent, Judge float64
	// AgentShare is Agent's part of that sum, 0 where nothing varies.
	AgentShare float64
	// Known is false when Agent and Judge cannot be separated: fewer than two transcripts, or none that was judged
	// twice.
	Known bool
}

// Attribute separates the sources of variation in the trials of one test, given the same transcripts judged again. If
// one transcript sometimes passes and sometimes fails, the judge varies. If some transcripts always pass and others
// always fail, the agent varies. transport counts trials without a transcript. Attribute tests one by one, since tests
// differ by more than chance.
//
// Source: S. R. Searle, G. Casella and C. E. McCulloch, Variance Components (1992), chapter 3, estimation by analysis
// of variance in the one-way random model; a negative estimate is 0.
func Attribute(transcripts []Rejudged, transport int) Attribution {
	transport = max(transport, 0)
	var of []spread
	for _, t := range transcripts {
		if t.Verdicts > 0 {
			passed := min(max(t.Passed, 0), t.Verdicts)
			rate := ratio(passed, t.Verdicts)
			of = append(of, spread{n: float64(t.Verdicts), mean: rate, squares: float64(passed) * (1 - rate)})
		}
	}
	trials := len(of) + transport
	a := Attribution{Transport: ratio(transport, trials), TransportInterval: Wilson(transport, trials)}
	between, within, size := varianceComponents(of)
	if size <= 0 {
		return a
	}
	a.Known = true
	a.Judge, a.Agent = within, (between-within)/size
	if a.Agent < 1e-12 { // a negative estimate, or what rounding leaves of none
		a.Agent = 0
	}
	if a.Agent > 0 {
		a.AgentShare = a.Agent / (a.Agent + a.Judge)
	}
	return a
}

// TranscriptsAlike returns the exact p-value of the hypothesis that verdicts do not depend on the transcript, as those
// of a judge that never reads it: the probability, given the number of passes, that no more transcripts than these have
// verdicts of both kinds. It allows for the choice of the test: the first verdicts of the transcripts are not all the
// same. Without a transcript that has two verdicts it is 1.
//
// Source: R. A. Fisher, The Design of Experiments (1935): the permutation distribution given the margins. With three
// verdicts for each transcript it is the test by the sum of squares between transcripts.
func TranscriptsAlike(transcripts []Rejudged) float64 {
	all, passes, mixed := 0, 0, 0
	for _, t := range transcripts {
		all, passes = all+t.Verdicts, passes+t.Passed
		if t.Passed > 0 && t.Passed < t.Verdicts {
			mixed++
		}
	}
	// ways[first][m][k] is the probability, with a fair coin, of k passes and m mixed transcripts; first is 1 if all
	// first verdicts are fails, 2 if all are passes, 3 for both.
	table := func() (ways [4][][]float64) {
		for first := range ways {
			ways[first] = make([][]float64, len(transcripts)+1)
			for m := range ways[first] {
				ways[first][m] = make([]float64, all+1)
			}
		}
		return ways
	}
	ways := table()
	ways[0][0][0] = 1
	repeated := false
	for _, t := range transcripts {
		repeated = repeated || t.Verdicts > 1
		next := table()
		for first, byMixed := range ways {
			for m, byPasses := range byMixed {
				for k, p := range byPasses {
					for own := 0; own < 2 && p > 0 && t.Verdicts > 0; own++ {
						chance := p * math.Exp2(-float64(t.Verdicts))
						for more := 0; more < t.Verdicts; more++ {
							passed, both := own+more, m
							if passed > 0 && passed < t.Verdicts {
								both++
							}
							next[first|1<<own][both][k+passed] += chance
							chance *= float64(t.Verdicts-1-more) / float64(more+1)
						}
					}
				}
			}
		}
		if t.Verdicts > 0 {
			ways = next
		}
	}
	asFew, sum := 0.0, 0.0
	for m, byPasses := range ways[3] {
		sum += byPasses[passes]
		if m <= mixed {
			asFew += byPasses[passes]
		}
	}
	if sum == 0 || !repeated {
		return 1
	}
	return min(asFew/sum, 1)
}
