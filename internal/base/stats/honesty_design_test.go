package stats_test

import (
	"math"
	"math/rand/v2"
	"strconv"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
)

// design simulates an evaluation: it adds pairs of clusters whose true difference it knows.
type design struct {
	name  string
	truth float64
	// passFail is for scores of 1 or 0, coarse for those and others that mostly differ by nothing.
	passFail, coarse bool
	add              func(r *rand.Rand, p *stats.Pairs, clusters int)
}

// correlated are ten normal items to a cluster, whose differences have an intraclass correlation of 0.7, and a standard
// deviation of 1.
func correlated(truth float64) design {
	return design{name: "items in clusters", truth: truth, add: func(r *rand.Rand, p *stats.Pairs, clusters int) {
		for c := range clusters {
			shared := math.Sqrt(0.7) * r.NormFloat64()
			for range 10 {
				base := r.NormFloat64() // how hard the item is, for both
				p.Add(strconv.Itoa(c), base, base+truth+shared+math.Sqrt(0.3)*r.NormFloat64())
			}
		}
	}}
}

// unequal are clusters of 1 to 30 items or so.
func unequal() design {
	return design{name: "clusters of all sizes", add: func(r *rand.Rand, p *stats.Pairs, clusters int) {
		for c := range clusters {
			shared := math.Sqrt(0.7) * r.NormFloat64()
			for items := 0; items == 0 || r.Float64() < 0.8; items++ {
				p.Add(strconv.Itoa(c), 0, shared+math.Sqrt(0.3)*r.NormFloat64())
			}
		}
	}}
}

// latencies are log-normal, those of the candidate slower by a factor.
func latencies(slower float64) design {
	return design{name: "latencies", truth: (slower - 1) * math.Exp(0.25), add: func(r *rand.Rand, p *stats.Pairs,
		clusters int) {
		for c := range clusters {
			session := math.Exp(r.NormFloat64() / 2)
			p.Add(strconv.Itoa(c), session*math.Exp(r.NormFloat64()/2), slower*session*math.Exp(r.NormFloat64()/2))
		}
	}}
}

// grades are five grades, of which the candidate gives another one in three of ten sessions.
func grades() design {
	return design{name: "grades", coarse: true, add: func(r *rand.Rand, p *stats.Pairs, clusters int) {
		for c := range clusters {
			base := float64(r.IntN(5)) / 4
			other := base
			if r.Float64() < 0.3 {
				other = float64(r.IntN(5)) / 4
			}
			p.Add(strconv.Itoa(c), base, other)
		}
	}}
}

// passes pass with probability rate; of the sessions, a share is decided anew for the candidate, with a rate that is
// higher by gain.
func passes(rate, anew, gain float64) design {
	bit := func(r *rand.Rand, p float64) float64 {
		if r.Float64() < p {
			return 1
		}
		return 0
	}
	return design{name: "pass or fail", truth: anew * gain, passFail: true, coarse: true, add: func(r *rand.Rand,
		p *stats.Pairs, clusters int) {
		for c := range clusters {
			base := bit(r, rate)
			other := base
			if r.Float64() < anew {
				other = bit(r, rate+gain)
			}
			p.Add(strconv.Itoa(c), base, other)
		}
	}}
}
