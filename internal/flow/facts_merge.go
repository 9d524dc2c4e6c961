package flow

import (
	"slices"
	"strings"
)

// mergeFacts applies operations to facts, in turn number turn. It returns a new list, in which facts stand in the order in which
// they first appeared, and what that changes for whoever reads the facts.
//
// Merging the same operations again changes nothing. An operation that says nothing new, or something older than what is known, is
// ignored. The arguments are not changed, so others may read them meanwhile.
func mergeFacts(facts []Fact, ops []factOp, turn int) ([]Fact, MemoryDelta) {
	before := normalFacts(facts)
	merged := slices.Clone(before)
	at := make(map[string]int, len(merged))
	for i, f := range merged {
		at[f.Key] = i
	}
	settled := map[string]bool{}
	for _, op := range lastOps(ops, turn) {
		i, known := at[op.Key]
		switch {
		case !known && op.Op == opDelete:
		case !known:
			at[op.Key] = len(merged)
			merged = append(merged, Fact{Key: op.Key, Value: op.Value, SourceTurn: op.SourceTurn, Confidence: op.Confidence})
		case merged[i].says(op) || op.olderThan(merged[i], turn):
			settled[op.Key] = true
		default:
			merged[i] = merged[i].after(op)
		}
	}
	merged = evict(merged, settled)
	return merged, compareFacts(before, merged)
}

// says reports whether the fact already is what the operation would make of it.
func (f Fact) says(op factOp) bool {
	if op.Op == opDelete {
		return f.Deleted
	}
	if op.Exact && f.Value != op.Value {
		return false
	}
	return !f.Deleted && sameValue(f.Value, op.Value)
}

// olderThan reports whether the fact was said after what the operation says, so that an old message that is read again cannot undo
// a correction. A fact from a turn that is still to come, which only a seeded memory has, counts as one of this turn.
func (o factOp) olderThan(f Fact, turn int) bool { return o.SourceTurn < min(f.SourceTurn, turn) }

// after returns the fact as the operation leaves it.
func (f Fact) after(op factOp) Fact {
	if op.Op == opDelete {
		f.Deleted, f.SourceTurn = true, op.SourceTurn
		return f
	}
	if !sameValue(f.Value, op.Value) {
		f.Previous = f.past()
	}
	f.Value, f.SourceTurn, f.Confidence, f.Deleted = op.Value, op.SourceTurn, op.Confidence, false
	return f
}

// past returns the fact's previous values and, unless it stands there last, its value.
func (f Fact) past() []PastValue {
	past := f.Previous
	if len(past) == 0 || !sameValue(past[len(past)-1].Value, f.Value) {
		past = append(slices.Clip(past), PastValue{Value: f.Value, SourceTurn: f.SourceTurn})
	}
	return past[max(0, len(past)-maxPastValues):]
}

// sameValue compares values as people read them.
func sameValue(a, b string) bool {
	return strings.EqualFold(oneLine(a, maxFactValue), oneLine(b, maxFactValue))
}

// evict returns the facts without those of least worth, if there are too many. Settled facts stay, because the conversation has just
// referred to them; were one given up, the operation that found it settled would bring it back when it is merged again, at another's
// expense. There are never more settled ones than may stay, because a merge has no more operations than that.
func evict(facts []Fact, settled map[string]bool) []Fact {
	excess := len(facts) - maxFacts
	if excess <= 0 {
		return facts
	}
	candidates := slices.DeleteFunc(slices.Clone(facts), func(f Fact) bool { return settled[f.Key] })
	slices.SortFunc(candidates, compareWorth)
	evicted := make(map[string]bool, excess)
	for _, f := range candidates[:excess] {
		evicted[f.Key] = true
	}
	return slices.DeleteFunc(slices.Clone(facts), func(f Fact) bool { return evicted[f.Key] })
}

// compareFacts says what changed for a reader of the facts, to whom deleted ones do not exist: revived facts are added, and evicted
// ones are deleted, as they last were.
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
