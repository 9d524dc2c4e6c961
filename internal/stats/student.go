package stats

import "gonum.org/v1/gonum/stat/distuv"

// tQuantile returns the quantile of Student's t at probability p. Degrees of freedom need not be whole.
func tQuantile(p, df float64) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}.Quantile(p)
}

// tTail returns the probability that Student's t exceeds t.
func tTail(t, df float64) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}.CDF(-t)
}
