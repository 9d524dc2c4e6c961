package stats

// Consistency is how far a judge agrees with itself when it is asked the same question several times.
type Consistency struct {
	// Items counts the items with at least two samples; others are left out.
	Items int
	// Unanimous is the share of items on which all samples agree, with its 95 % interval. More samples make it smaller.
	Unanimous         float64
	UnanimousInterval [2]float64
	// Agreement is the chance that two samples of an item agree, as a mean over items, with its 95 % interval. It does
	// not depend on the number of samples.
	Agreement         float64
	AgreementInterval [2]float64
}

// SelfConsistency compares the samples of each item with each other: pass or fail, a label, a grade.
//
// Source: the chance that two samples agree is P̄ of J. L. Fleiss, Measuring Nominal Scale Agreement Among Many Raters,
// Psychological Bulletin 76 (1971); Wilson; halfMeans.
func SelfConsistency[L comparable](samples [][]L, seed uint64) Consistency {
	var c Consistency
	var agreement []clusterSum
	unanimous := 0
	for _, item := range samples {
		m := len(item)
		if m < 2 {
			continue
		}
		of := map[L]int{}
		for _, sample := range item {
			of[sample]++
		}
		same := 0
		for _, count := range of {
			same += count * (count - 1)
		}
		if same == m*(m-1) {
			unanimous++
		}
		agreement = append(agreement, clusterSum{1, ratio(same, m*(m-1))})
	}
	c.Items = len(agreement)
	c.Unanimous, c.UnanimousInterval = ratio(unanimous, c.Items), Wilson(unanimous, c.Items)
	c.Agreement, c.AgreementInterval = meanChance(agreement, seed)
	return c
}

// Preference is which of two answers a judge prefers, by the place at which they are shown to it.
type Preference int

// The preferences.
const (
	Tie Preference = iota
	PreferFirst
	PreferSecond
)

// Swap compares preferences before and after the two answers have changed places.
type Swap struct {
	// N counts the comparisons, Consistent those with the same answer, or a tie, both times.
	N, Consistent int
	// Rate is Consistent/N, with its 95 % interval.
	Rate     float64
	Interval [2]float64
	// First and Second count the comparisons that prefer the first, or the second, place both times. The rest are a tie
	// only once.
	First, Second int
	// P is the two-sided p-value of the hypothesis that the judge favours neither place.
	P float64
}

// SwapConsistency compares preferences with those after the answers have changed places, index by index; the shorter
// list counts.
//
// Source: L. Zheng et al., Judging LLM-as-a-Judge with MT-Bench and Chatbot Arena, NeurIPS (2023), table 2
// ("consistency", "biased toward first"); P is the sign test, as McNemar.
func SwapConsistency(straight, swapped []Preference) Swap {
	s := Swap{N: min(len(straight), len(swapped))}
	for i, before := range straight[:s.N] {
		switch after := swapped[i]; {
		case before == Tie && after == Tie, before == PreferFirst && after == PreferSecond,
			before == PreferSecond && after == PreferFirst:
			s.Consistent++
		case before == PreferFirst && after == PreferFirst:
			s.First++
		case before == PreferSecond && after == PreferSecond:
			s.Second++
		}
	}
	s.Rate, s.Interval = ratio(s.Consistent, s.N), Wilson(s.Consistent, s.N)
	s.P = McNemar(s.First, s.Second)
	return s
}
