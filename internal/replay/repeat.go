package replay

import (
	"math"
	"strconv"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
)

// Repeats say how much a lane varies when it plays a session again.
type Repeats struct {
	// K is how often each session was played; the least number where that differs.
	K        int              `json:"k"`
	Variance []RepeatVariance `json:"variance"`
	// PassHatK is, for each lane and k from 1, the probability that k replays of a session all complete, as a mean over
	// sessions.
	PassHatK map[string]map[string]float64 `json:"pass_hat_k"`
}

// RepeatVariance splits the variance of a metric in a lane: Model is the mean sample variance within a session, Session
// the variance of the sessions' means less Model/k, at least 0; nil of a single session.
type RepeatVariance struct {
	Variant string   `json:"lane"`
	Metric  string   `json:"metric"`
	Mean    float64  `json:"mean"`
	Model   float64  `json:"model"`
	Session *float64 `json:"session"`
}

// repeatTally gathers the repeats of sessions, by lane and column.
type repeatTally struct {
	k     int // the least number of repeats
	split map[string][]stats.RepeatVariance
	ends  map[string][]stats.Repeated
}

// repeat takes the repeats of a session in a column of a lane.
func (t *Tally) repeat(lane string, column int, row []float64) {
	if t.repeats == nil {
		t.repeats = &repeatTally{
			k: len(row), split: map[string][]stats.RepeatVariance{}, ends: map[string][]stats.Repeated{},
		}
	}
	r := t.repeats
	if r.split[lane] == nil {
		r.split[lane] = make([]stats.RepeatVariance, len(table))
	}
	r.k = min(r.k, len(row))
	if table[column].name == CompletedShare {
		r.complete(lane, row)
	}
	r.split[lane][column].Add(row)
}

func (r *repeatTally) complete(lane string, row []float64) {
	of := stats.Repeated{}
	for _, x := range row {
		if !math.IsNaN(x) {
			of.N++
			of.Passed += int(x)
		}
	}
	if of.N > 0 {
		r.k = min(r.k, of.N)
		r.ends[lane] = append(r.ends[lane], of)
	}
}

// repeated makes the report of the repeats, nil without any.
func (t *Tally) repeated() *Repeats {
	r := t.repeats
	if r == nil {
		return nil
	}
	report := &Repeats{K: r.k, Variance: []RepeatVariance{}, PassHatK: map[string]map[string]float64{}}
	for _, lane := range []string{Baseline, Candidate} {
		for i := range r.split[lane] {
			if s := r.split[lane][i].Split(); s.Model != nil {
				report.Variance = append(report.Variance, RepeatVariance{lane, table[i].name, s.Mean, *s.Model, s.Test})
			}
		}
		if ends := r.ends[lane]; len(ends) > 0 {
			report.PassHatK[lane] = map[string]float64{}
			for k := 1; k <= r.k; k++ {
				report.PassHatK[lane][strconv.Itoa(k)] = passHat(ends, k)
			}
		}
	}
	return report
}

// passHat is the mean over sessions of the probability that k replays all complete. Each session has at least k.
func passHat(ends []stats.Repeated, k int) float64 {
	sum := 0.0
	for _, e := range ends {
		sum += stats.PassHatK(e.N, e.Passed)[k-1]
	}
	return sum / float64(len(ends))
}
