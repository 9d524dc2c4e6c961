package stats

import (
	"math"

	"gonum.org/v1/gonum/stat"
)

// TInterval returns the 95 % two-sided Student-t interval of the mean of independent observations, as {low, high}.
// It is not clamped, since a difference may be negative. It is infinite for fewer than two observations, and has no width when all
// observations are equal.
//
// Source: Student, The Probable Error of a Mean, Biometrika 6 (1908).
func TInterval(xs []float64) [2]float64 {
	n := float64(len(xs))
	if n < 2 {
		return [2]float64{math.Inf(-1), math.Inf(1)}
	}
	mean, sd := stat.MeanStdDev(xs, nil)
	half := tQuantile(0.5+Confidence/2, n-1) * sd / math.Sqrt(n)
	return [2]float64{mean - half, mean + half}
}

// TLower returns the lower end of TInterval for scores between 0 and 1, clamped to [0, 1].
// Fewer than two scores give 0: one trial proves no lower bound.
func TLower(scores []float64) float64 {
	return min(max(TInterval(scores)[0], 0), 1)
}
