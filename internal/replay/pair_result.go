package replay

import (
	"context"
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// PairResult is a session that was replayed in all of its lanes, or is lost.
type PairResult struct {
	Pair *Pair
	// Outcome is what is kept of the pair.
	Outcome Outcome
	// Worker is who replayed it; empty in this process.
	Worker string
	// Settle, if set, is called once the outcome is kept.
	Settle func()
	// Err says that the run cannot go on.
	Err error
}

// Run replays a session, as often as it is to be, and measures it. Its error is that of a context that has ended, or of
// a pair that cannot be written.
func (r *Replayer) Run(ctx context.Context, s *Session, how Measuring) (PairResult, error) {
	var pair *Pair
	var records []*result.Test
	for repeat := 1; repeat <= max(r.Repeats, 1); repeat++ {
		again, played, err := r.replay(ctx, s, repeat)
		if err != nil {
			return PairResult{}, err
		}
		Measure(s, again, how)
		if err := r.prefer(ctx, again); err != nil {
			return PairResult{}, err
		}
		if r.Repeats > 1 {
			again.Repeat = repeat
		}
		records = append(records, r.Checks.conclude(again, played)...)
		if pair == nil {
			pair = again
			continue
		}
		pair.Again = append(pair.Again, again)
	}
	return resultOf(pair, records)
}

// Lost is a session that could not be replayed in any lane, and why: it is counted, never left out.
func (r *Replayer) Lost(s *Session, why string) (PairResult, error) {
	pair := &Pair{
		SessionID: s.ID, FlowID: s.FlowID, UnitID: s.UnitID, Mode: r.Mode, Outcome: s.Outcome(), Started: s.Started,
		Slices: s.Slices, Dropped: why, Variations: []Variation{observe(s)},
	}
	for _, name := range r.lanes() {
		pair.Variations = append(pair.Variations, Variation{Name: name, Error: why, Turns: []VariationTurn{}})
	}
	return resultOf(pair, r.Checks.conclude(pair, nil))
}

// lanes are the names of the lanes that are replayed.
func (r *Replayer) lanes() []string {
	if r.Baseline == nil {
		return []string{Candidate}
	}
	return []string{Baseline, Candidate}
}

func resultOf(pair *Pair, records []*result.Test) (h PairResult, err error) {
	h.Pair = pair
	if h.Outcome, err = boundedOutcome(pair, records); err != nil {
		return h, fmt.Errorf("session %s: %w", pair.SessionID, err)
	}
	return h, nil
}

// PairResultOf is a session whose outcome was kept, or sent by whoever replayed it.
func PairResultOf(o Outcome) (PairResult, error) {
	pair, err := o.Pair()
	return PairResult{Pair: pair, Outcome: o}, err
}

// Complete reports whether a pair says what became of every lane.
func (r *Replayer) Complete(p *Pair) bool {
	if p.Dropped == "" && len(p.Again) != max(r.Repeats, 1)-1 {
		return false
	}
	for _, time := range p.Times() {
		for _, name := range append([]string{Observed}, r.lanes()...) {
			lane := time.Variation(name)
			if lane == nil || name != Observed && time.Dropped == "" && lane.Metrics == nil {
				return false
			}
		}
	}
	return true
}
