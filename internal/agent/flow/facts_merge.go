package flow

import (
	"cmp"
	"slices"
	"strings"
)

// mergeFacts applies operations to facts in turn number turn. It returns a new list, with facts in the order of their
// first appearance, and the change for readers of the facts.
//
// Merging the same operations again changes nothing. An operation is ignored when it adds nothing new or is older than
// the known fact. The arguments are not changed, so others may read them concurrently.
func mergeFacts(facts []Fact, ops []factOp, turn int) ([]Fact, MemoryDelta) {
	before := normalFacts(facts)
	merged := slices.Clone(before)
	at := make(map[string]int, len(merged))
	for i, f := range merged {
		at[f.Key] = i
	}
	touched := map[string]bool{}
	for _, op := range lastOps(ops, turn) {
		i, known := at[op.Key]
		switch {
		case !known && op.Op == opDelete:
		case !known:
			at[op.Key] = len(merged)
			merged = append(merged, Fact{
				Key: op.Key, Value: op.Value, SourceTurn: op.SourceTurn, Confidence: op.Confidence,
			})
		case merged[i].says(op) || op.olderThan(merged[i], turn):
			touched[op.Key] = true
		default:
			merged[i] = merged[i].after(op)
		}
	}
	merged = evict(merged, touched)
	return merged, compareFacts(before, merged)
}

// says reports whether the operation would leave the fact as it is.
func (f Fact) says(op factOp) bool {
	if op.Op == opDelete {
		return f.Deleted
	}
	if op.Exact && f.Value != op.Value {
		return false
	}
	return !f.Deleted && sameValue(f.Value, op.Value)
}

// olderThan reports whether the operation was said before the fact, so that reading an old message again cannot undo a
// correction. Only a seeded memory has facts from a later turn; they count as facts of this turn.
func (o factOp) olderThan(f Fact, turn int) bool { return o.SourceTurn < min(f.SourceTurn, turn) }

// after returns the fact after the operation.
func (f Fact) after(op factOp) Fact {
	if op.Op == opDelete {
		f.Deleted, f.SourceTurn, f.ValueTurn = true, op.SourceTurn, f.SourceTurn
		return f
	}
	if !sameValue(f.Value, op.Value) {
		f.Previous = f.past()
	}
	f.Value, f.SourceTurn, f.Confidence, f.Deleted, f.ValueTurn = op.Value, op.SourceTurn, op.Confidence, false, 0
	return f
}

// past returns the fact's previous values and, unless it is the last of them, its value.
func (f Fact) past() []PastValue {
	past := f.Previous
	if len(past) == 0 || !sameValue(past[len(past)-1].Value, f.Value) {
		past = append(slices.Clip(past), PastValue{Value: f.Value, SourceTurn: cmp.Or(f.ValueTurn, f.SourceTurn)})
	}
	return past[max(0, len(past)-maxPastValues):]
}

// sameValue compares values without regard to case and white space.
func sameValue(a, b string) bool {
	return strings.EqualFold(oneLine(a, maxFactValue), oneLine(b, maxFactValue))
}

// evict removes the facts of least worth if there are too many. It keeps the facts that this merge has referred to:
// without them, merging the same operations again would bring them back and evict others. There is always room for
// them, because a merge has at most maxFactOps operations.
func evict(facts []Fact, touched map[string]bool) []Fact {
	excess := len(facts) - maxFacts
	if excess <= 0 {
		return facts
	}
	candidates := slices.DeleteFunc(slices.Clone(facts), func(f Fact) bool { return touched[f.Key] })
	slices.SortFunc(candidates, compareWorth)
	evicted := make(map[string]bool, excess)
	for _, f := range candidates[:excess] {
		evicted[f.Key] = true
	}
	return slices.DeleteFunc(slices.Clone(facts), func(f Fact) bool { return evicted[f.Key] })
}

// compareFacts returns the change for readers of the facts, who do not see deleted ones. So a revived fact counts as
// added, and an evicted one as deleted, with its last value.
func compareFacts(before, after []Fact) MemoryDelta {
	delta := emptyDelta()
	known := byKey(before)
	for _, f := range after {
		was, ok := known[f.Key]
		wasLive := ok && !was.Deleted
		switch {
		case !f.Deleted && !wasLive:
			delta.FactsAdded = append(delta.FactsAdded, f)
		case f.Deleted && wasLive:
			delta.FactsDeleted = append(delta.FactsDeleted, f)
		case !f.Deleted && f.Value != was.Value:
			delta.FactsUpdated = append(delta.FactsUpdated, f)
		}
	}
	kept := byKey(after)
	for _, f := range before {
		if _, ok := kept[f.Key]; !ok && !f.Deleted {
			delta.FactsDeleted = append(delta.FactsDeleted, f)
		}
	}
	return delta
}

func byKey(facts []Fact) map[string]Fact {
	all := make(map[string]Fact, len(facts))
	for _, f := range facts {
		all[f.Key] = f
	}
	return all
}
