package flow

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Bounds of the facts about a user. Most facts come from a model, and every prompt contains them.
const (
	maxFacts      = 100
	maxFactOps    = 100  // different keys in one merge; not more than maxFacts, see evict
	maxReadOps    = 1000 // different keys read to choose those
	maxFactKey    = 64   // characters
	maxFactValue  = 2000
	maxPastValues = 20
)

// factOp changes one fact.
type factOp struct {
	Op, Key, Value string
	// SourceTurn is the turn in which the user said it; 0 means this turn.
	SourceTurn int
	// Confidence is between 0 and 1; nil means certain.
	Confidence *float64
	// Exact makes case differ, for what rules collect: Ada instead of ada is then a correction.
	Exact bool
}

// The kinds of operation. Adding a known key and updating an unknown one do the same: both set the value.
const (
	opAdd    = "add"
	opUpdate = "update"
	opDelete = "delete"
)

// NormalKey returns the normal form of a key: NFKC, lower case, _ for white space and hyphens, and otherwise only
// letters, marks and digits of any script, _ and dots, at most 64 characters. When nothing is left, the normal form is
// fact_ and the beginning of the SHA-256 of the key. A blank key has the empty form.
func NormalKey(key string) string {
	key = strings.TrimSpace(key)
	if key == "" || plainKey(key) {
		return key
	}
	normal := strings.Map(func(r rune) rune {
		switch {
		case r == '-' || r == '\u2010' || unicode.IsSpace(r): // NFKC makes these two of all hyphens
			return '_'
		case unicode.IsLetter(r), unicode.IsMark(r), unicode.IsNumber(r), r == '_', r == '.':
			return r
		}
		return -1
	}, norm.NFKC.String(strings.ToLower(norm.NFKC.String(key))))
	normal = firstRunes(norm.NFKC.String(normal), maxFactKey) // letters that have become neighbours may be one
	if normal == "" {
		return fmt.Sprintf("fact_%x", sha256.Sum256([]byte(key)))[:len("fact_")+8]
	}
	return normal
}

// plainKey reports whether a key is surely its own normal form, as nearly all are.
func plainKey(key string) bool {
	return len(key) <= maxFactKey && nodeID().MatchString(key)
}

// keysCollide reports whether two different keys with different values have one normal form, so that one of the two
// values is lost.
func keysCollide(ops []factOp) bool {
	said := map[string]factOp{}
	for _, op := range ops {
		normal, ok := op.normal(0)
		if !ok || op.Op == opDelete {
			continue
		}
		other, known := said[normal.Key]
		if known && strings.TrimSpace(other.Key) != strings.TrimSpace(op.Key) && !sameValue(other.Value, op.Value) {
			return true
		}
		said[normal.Key] = op
	}
	return false
}

// normal returns the operation in normal form, or false when it has no effect.
func (o factOp) normal(turn int) (factOp, bool) {
	o.Key, o.Value = NormalKey(o.Key), oneLine(o.Value, maxFactValue)
	if o.SourceTurn < 1 || o.SourceTurn > turn {
		o.SourceTurn = turn
	}
	if c := o.Confidence; c != nil && math.IsNaN(*c) {
		o.Confidence = nil
	} else if c != nil && (*c < 0 || *c > 1) {
		within := math.Min(math.Max(*c, 0), 1)
		o.Confidence = &within
	}
	switch o.Op {
	case opAdd, opUpdate:
		return o, o.Key != "" && o.Value != ""
	case opDelete:
		return o, o.Key != ""
	}
	return o, false
}

// lastOps returns the last operation on each key, in the order in which the keys appear. If there are too many, it
// keeps the most certain.
func lastOps(ops []factOp, turn int) []factOp {
	last := make([]factOp, 0, min(len(ops), maxFactOps))
	at := make(map[string]int, cap(last))
	for _, op := range ops {
		op, ok := op.normal(turn)
		if !ok {
			continue
		}
		i, known := at[op.Key]
		switch {
		case known:
			last[i] = op
		case len(last) < maxReadOps:
			at[op.Key] = len(last)
			last = append(last, op)
		}
	}
	return mostCertain(last)
}

func mostCertain(ops []factOp) []factOp {
	if len(ops) <= maxFactOps {
		return ops
	}
	places := make([]int, len(ops))
	for i := range places {
		places[i] = i
	}
	slices.SortStableFunc(places, func(a, b int) int {
		return cmp.Compare(certaintyOf(ops[b].Confidence), certaintyOf(ops[a].Confidence))
	})
	places = places[:maxFactOps]
	slices.Sort(places)
	kept := make([]factOp, 0, maxFactOps)
	for _, i := range places {
		kept = append(kept, ops[i])
	}
	return kept
}

// normalFacts returns a copy with normal keys. Only a seeded memory has a key twice; then the newest value is kept, in
// the first place. A fact whose normal key is empty is left out.
func normalFacts(facts []Fact) []Fact {
	var normal []Fact
	at := make(map[string]int, len(facts))
	for _, f := range facts {
		if f.Key = NormalKey(f.Key); f.Key == "" {
			continue
		}
		i, known := at[f.Key]
		switch {
		case !known:
			at[f.Key] = len(normal)
			normal = append(normal, f)
		case f.SourceTurn >= normal[i].SourceTurn:
			normal[i] = f
		}
	}
	return normal
}

// compareWorth orders facts for eviction: the least certain first, then the oldest. Ties are ordered by key, not by
// place in the list, so that a fact that is evicted and learned again keeps its rank.
func compareWorth(a, b Fact) int {
	return cmp.Or(cmp.Compare(certainty(a), certainty(b)), cmp.Compare(a.SourceTurn, b.SourceTurn),
		cmp.Compare(a.Key, b.Key))
}

// certainty counts a fact without confidence as certain.
func certainty(f Fact) float64 { return certaintyOf(f.Confidence) }

func certaintyOf(confidence *float64) float64 {
	if confidence == nil {
		return 1
	}
	return *confidence
}
