package stats

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// The functions below return Krippendorff's α of units. A unit is the list of values that its raters gave. It does not
// matter who gave which value; a rater who gave none is missing. Units with fewer than two values are left out. 1 is
// full agreement, 0 is agreement by chance. defined is false when α is 0/0: fewer than two values to compare, or all of
// them equal.
//
// Source: K. Krippendorff, Computing Krippendorff's Alpha-Reliability (2011); A. F. Hayes and K. Krippendorff,
// Answering the Call for a Standard Reliability Measure for Coding Data, Communication Methods and Measures 1 (2007).

// NominalAlpha returns α of labels: two labels are equal or not.
func NominalAlpha[L comparable](units [][]L) (alpha float64, defined bool) {
	all := map[L]int{}
	n, disagreeing := 0, 0.0
	for _, unit := range units {
		if len(unit) < 2 {
			continue
		}
		of := map[L]int{}
		for _, label := range unit {
			of[label]++
			all[label]++
		}
		same := 0
		for _, count := range of {
			same += count * (count - 1)
		}
		m := len(unit)
		n += m
		disagreeing += float64(m*(m-1)-same) / float64(m-1)
	}
	same := 0
	for _, count := range all {
		same += count * (count - 1)
	}
	return alphaOf(disagreeing, float64(n*(n-1)-same), n)
}

// IntervalAlpha returns α of numbers: two numbers disagree by the square of their distance.
func IntervalAlpha(units [][]float64) (alpha float64, defined bool) {
	var all spread
	disagreeing := 0.0
	for _, unit := range units {
		if len(unit) < 2 {
			continue
		}
		var of spread
		for _, x := range unit {
			of.add(x)
			all.add(x)
		}
		// The squared distances of all ordered pairs of m values sum up to 2m times their squares about the mean.
		disagreeing += 2 * of.n * of.squares / (of.n - 1)
	}
	return alphaOf(disagreeing, 2*all.n*all.squares, int(all.n))
}

// OrdinalAlpha returns α of grades that have an order but no distances. Two grades disagree by the square of the number
// of values between them; values equal to either count half. That is the distance of their mid-ranks among all values,
// so OrdinalAlpha is IntervalAlpha of the mid-ranks.
func OrdinalAlpha[V cmp.Ordered](units [][]V) (alpha float64, defined bool) {
	var all []V
	for _, unit := range units {
		if len(unit) >= 2 {
			all = append(all, unit...)
		}
	}
	slices.Sort(all)
	ranks := make([][]float64, len(units))
	for i, unit := range units {
		ranks[i] = make([]float64, len(unit))
		for j, value := range unit {
			first, _ := slices.BinarySearch(all, value)
			after, _ := slices.BinarySearchFunc(all, value, func(x, value V) int {
				if x <= value {
					return -1
				}
				return 1
			})
			ranks[i][j] = float64(first+after) / 2
		}
	}
	return IntervalAlpha(ranks)
}

// alphaOf returns 1 − (disagreeing/n) / (expected/(n·(n−1))) of n values. disagreeing is a sum over units: the
// differences of a unit's ordered pairs, divided by one less than its number of values. expected is the sum of
// differences over all ordered pairs.
func alphaOf(disagreeing, expected float64, n int) (alpha float64, defined bool) {
	if expected <= 0 {
		return 0, false
	}
	return 1 - float64(n-1)*disagreeing/expected, true
}

// alphaResamples is how often AlphaInterval draws. It is less than Resamples because each draw computes α anew.
const alphaResamples = 2_000

// AlphaInterval returns the 95 % interval of alpha, one of NominalAlpha, OrdinalAlpha and IntervalAlpha. Draws that
// leave α undefined are not counted. The interval is {−1, 1} with fewer than two units, or when half of all draws leave
// α undefined. Where all units agree, all draws do: then the lower end is that of the share of units that agree, the
// others being as far apart as different units are.
//
// Source: K. Krippendorff, Bootstrapping Distributions for Krippendorff's Alpha (2006), with whole units drawn in place
// of pairs; T. C. Hesterberg, What Teachers Should Know About the Bootstrap, The American Statistician 69 (2015), for
// levels that make percentiles as wide as Student's t ("expanded percentile interval"); Wilson, for a share of 1.
func AlphaInterval[L comparable](units [][]L, seed uint64, alpha func([][]L) (float64, bool)) [2]float64 {
	random := rand.NewPCG(seed, 0)
	drawn := make([][]L, len(units))
	var alphas []float64
	for range alphaResamples {
		for i := range drawn {
			drawn[i] = units[((random.Uint64()>>32)*uint64(len(units)))>>32]
		}
		if a, defined := alpha(drawn); defined {
			alphas = append(alphas, a)
		}
	}
	if len(units) < 2 || len(alphas) < alphaResamples/2 {
		return [2]float64{-1, 1}
	}
	slices.Sort(alphas)
	if alphas[0] >= 1 {
		return [2]float64{agreedAlpha(units), 1}
	}
	g := float64(len(units))
	level := normalBelow(-tQuantile(0.5+Confidence/2, g-1) / math.Sqrt((g-1)/g))
	below := max(int(float64(len(alphas)+1)*level)-1, 0)
	return [2]float64{alphas[below], alphas[len(alphas)-1-below]}
}

// agreedAlpha returns the lower end of α where the values of each unit are equal.
func agreedAlpha[L comparable](units [][]L) float64 {
	all, n, same := map[L]float64{}, 0.0, 0.0
	for _, unit := range units {
		if len(unit) < 2 {
			continue
		}
		same += 2 * all[unit[0]]
		all[unit[0]]++
		n++
	}
	differ := 1 - same/(n*(n-1)) // the chance that two units have different values
	return max(-1, 1-(1-wilson95(1, n)[0])/differ)
}
