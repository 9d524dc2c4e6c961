package evaluation

import (
	"iter"
	"time"

	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// costed yields the units with what their conversations are expected to take: the time that they took before, else the
// number of their turns and judged assertions. Both are in turns, so that they can be compared. For workers elsewhere
// it says whether they start programs.
func (e *Evaluation) costed(units iter.Seq2[orchestrator.Unit, error]) iter.Seq2[orchestrator.Unit, error] {
	return func(yield func(orchestrator.Unit, error) bool) {
		costs := costs{e: e}
		for chunk, err := range chunked(units, costedAtOnce) {
			costs.settle(chunk)
			for _, u := range chunk {
				u.Commands = e.Fleet != nil && e.Config.Setup.StartsPrograms() && e.startsPrograms(u)
				if !yield(u, nil) {
					return
				}
			}
			if err != nil {
				yield(orchestrator.Unit{}, err)
				return
			}
		}
	}
}

// costedAtOnce is how many units are asked for together.
const costedAtOnce = 500

// costs knows how long a turn takes on average.
type costs struct {
	e     *Evaluation
	took  time.Duration
	turns float64
}

func (c *costs) settle(units []orchestrator.Unit) {
	for i := range units {
		units[i].Cost = c.e.cost(units[i].Test)
	}
	if c.e.Fleet == nil || c.e.Fleet.Durations == nil {
		return
	}
	keys := make([]result.Key, len(units))
	for i, u := range units {
		keys[i] = keyOf(u)
	}
	known := c.e.Fleet.Durations(keys)
	for i, u := range units {
		if took, ok := known[keys[i]]; ok {
			c.took, c.turns = c.took+took, c.turns+u.Cost
		}
	}
	if c.took == 0 || c.turns == 0 {
		return
	}
	for i := range units {
		if took, ok := known[keys[i]]; ok {
			units[i].Cost = float64(took) / float64(c.took) * c.turns
		}
	}
}

// chunked yields so many units at once. The error, if any, comes with the last of them.
func chunked(units iter.Seq2[orchestrator.Unit, error], n int) iter.Seq2[[]orchestrator.Unit, error] {
	return func(yield func([]orchestrator.Unit, error) bool) {
		var chunk []orchestrator.Unit
		for u, err := range units {
			if err != nil {
				yield(chunk, err)
				return
			}
			if chunk = append(chunk, u); len(chunk) == n {
				if !yield(chunk, nil) {
					return
				}
				chunk = nil
			}
		}
		if len(chunk) > 0 {
			yield(chunk, nil)
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
