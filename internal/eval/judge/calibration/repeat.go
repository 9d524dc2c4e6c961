package calibration

import "github.com/rehearse-dev/rehearse/internal/base/stats"

// Consistency says how far the judge agrees with itself. What is not known is nil.
type Consistency struct {
	Samples int `json:"samples"`
	// Items counts the answers with two verdicts or more.
	Items             int         `json:"items"`
	Unanimous         *float64    `json:"unanimous"`
	UnanimousInterval *[2]float64 `json:"unanimous_interval"`
	Agreement         *float64    `json:"agreement"`
	AgreementInterval *[2]float64 `json:"agreement_interval"`
	// Undecided counts the asks that brought no verdict.
	Undecided int `json:"undecided"`
}

// consistency compares the verdicts on each answer with each other; nil when the judge was asked once.
func consistency(asked []*Result, samples int) *Consistency {
	if samples < 2 {
		return nil
	}
	c := &Consistency{Samples: samples}
	var all [][]Verdict
	for _, a := range asked {
		var verdicts []Verdict
		for _, answer := range a.Answers {
			if answer.Verdict == Undecided {
				c.Undecided++
				continue
			}
			verdicts = append(verdicts, answer.Verdict)
		}
		all = append(all, verdicts)
	}
	if s := stats.SelfConsistency(all, seed); s.Items > 0 {
		c.Items = s.Items
		c.Unanimous, c.UnanimousInterval = &s.Unanimous, &s.UnanimousInterval
		c.Agreement, c.AgreementInterval = &s.Agreement, &s.AgreementInterval
	}
	return c
}

// Swap says how far a judge prefers the same answer at either place.
type Swap struct {
	// N counts the comparisons, each asked twice, Consistent those with the same verdict both times.
	N          int         `json:"n"`
	Consistent int         `json:"consistent"`
	Rate       *float64    `json:"rate"`
	Interval   *[2]float64 `json:"interval"`
	// First and Second count the comparisons that prefer the first, or the second, place both times, P the two-sided
	// p-value of a judge who favours neither.
	First  int     `json:"first"`
	Second int     `json:"second"`
	P      float64 `json:"p"`
}

// swapOf compares preferences with those after the answers have changed places; nil when none was asked for.
func swapOf(asked []*Result) *Swap {
	var straight, swapped []stats.Preference
	place := func(v, first, second Verdict) stats.Preference {
		switch v {
		case first:
			return stats.PreferFirst
		case second:
			return stats.PreferSecond
		}
		return stats.Tie
	}
	count := func(a Answer) {
		if len(a.Orders) == 2 {
			straight, swapped = append(straight, place(a.Orders[0], A, B)), append(swapped, place(a.Orders[1], B, A))
		}
	}
	for _, a := range asked {
		for _, answer := range a.Answers {
			count(answer)
			for _, vote := range answer.Votes {
				count(vote.Answer)
			}
		}
	}
	s := stats.SwapConsistency(straight, swapped)
	if s.N == 0 {
		return nil
	}
	return &Swap{
		N: s.N, Consistent: s.Consistent, Rate: &s.Rate, Interval: &s.Interval, First: s.First, Second: s.Second,
		P: s.P,
	}
}
