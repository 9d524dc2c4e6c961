package evaluation

import (
	"iter"

	"rehearse/internal/orchestrator"
	"rehearse/internal/suite"
)

// costed yields the units with what their conversations are expected to take.
func (e *Evaluation) costed(units iter.Seq2[orchestrator.Unit, error]) iter.Seq2[orchestrator.Unit, error] {
	return func(yield func(orchestrator.Unit, error) bool) {
		for u, err := range units {
			if err == nil {
				u.Cost = e.cost(u.Test)
			}
			if !yield(u, err) {
				return
			}
		}
	}
}

// cost is the number of turns, each counted once and once more for each assertion that asks a judge.
func (e *Evaluation) cost(t *suite.Test) float64 {
	judged := func(assertions []suite.Assertion) (n int) {
		for _, a := range assertions {
			if c, err := e.kinds.Check(a); err == nil && c.Judged {
				n++
			}
		}
		return n
	}
	turns := t.MostTurns()
	cost := turns*(1+judged(t.EveryTurn)) + judged(t.Assertions)
	for _, turn := range t.Turns {
		cost += judged(turn.Assertions)
	}
	return float64(cost)
}
