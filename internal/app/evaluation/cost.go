package evaluation

import (
	"iter"
	"time"

	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// needs is which models grading a test needs, and what one of its conversations takes.
type needs struct {
	judge, embedder bool
	// turns are the turns of a conversation, each counted once and once more for each assertion that needs a judge.
	turns int32
}

// needsOf returns what a test needs.
func (e *Evaluation) needsOf(t *suite.Test) (n needs) {
	judged := func(assertions []suite.Assertion) (count int32) {
		for _, a := range assertions {
			judge, embedder := e.kinds.Models(a)
			n.embedder = n.embedder || embedder
			if judge {
				count++
			}
		}
		return count
	}
	each, whole := judged(t.EveryTurn), judged(t.Assertions)
	any := len(t.Assertions)+len(t.EveryTurn) > 0
	n.turns = int32(t.MostTurns())*(1+each) + whole
	for _, turn := range t.Turns {
		own := judged(turn.Assertions)
		any = any || len(turn.Assertions) > 0
		n.judge = n.judge || own > 0 || turn.JudgesExpected()
		n.turns += own
	}
	n.judge = n.judge || each+whole > 0 || !any && t.Criteria != ""
	if t.User != nil { // what ends the user's part needs no judge
		judged(t.User.StopWhen)
	}
	n.embedder = n.embedder && e.setups[t.Suite].Config().Embedder != nil
	return n
}

// durationsAtOnce is how many durations are looked up together.
const durationsAtOnce = 500

// costs yields what conversations of units are expected to take: the time that they took before, else their turns as
// needs has them. Both are in turns, so that they can be compared.
func (e *Evaluation) costs(turns []int32, keys []result.Key) iter.Seq[float64] {
	return func(yield func(float64) bool) {
		var took time.Duration
		total := 0.0
		for at := 0; at < len(turns); at += durationsAtOnce {
			end := min(len(turns), at+durationsAtOnce)
			var known map[result.Key]time.Duration
			if e.looksUpDurations() {
				known = e.Fleet.Durations(keys[at:end])
			}
			for i := at; i < end && known != nil; i++ {
				if before, ok := known[keys[i]]; ok {
					took, total = took+before, total+float64(turns[i])
				}
			}
			for i := at; i < end; i++ {
				cost := float64(turns[i])
				if known != nil && took > 0 && total > 0 {
					if before, ok := known[keys[i]]; ok {
						cost = float64(before) / float64(took) * total
					}
				}
				if !yield(cost) {
					return
				}
			}
		}
	}
}

// looksUpDurations reports whether it is known how long tests took in earlier runs.
func (e *Evaluation) looksUpDurations() bool { return e.Fleet != nil && e.Fleet.Durations != nil }

// marked yields the units and says, for workers elsewhere, which of them start programs.
func (e *Evaluation) marked(units iter.Seq2[orchestrator.Unit, error]) iter.Seq2[orchestrator.Unit, error] {
	if e.Fleet == nil || !e.Config.Setup.StartsPrograms() {
		return units
	}
	return func(yield func(orchestrator.Unit, error) bool) {
		for u, err := range units {
			u.Commands = err == nil && e.startsPrograms(u)
			if !yield(u, err) {
				return
			}
		}
	}
}
