package grader

import (
	"encoding/json"
	"errors"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// memory is the part of an agent's memory that graders look at.
type memory struct {
	Facts []fact `json:"facts"`
}

type fact struct {
	Key     string `json:"key"`
	Value   any    `json:"value"`
	Deleted bool   `json:"deleted"`
}

// live returns the facts that have not been taken back.
func (m *memory) live() []fact {
	live := make([]fact, 0, len(m.Facts))
	for _, f := range m.Facts {
		if !f.Deleted {
			live = append(live, f)
		}
	}
	return live
}

// factsText lists facts for evidence, the first few of many.
func factsText(facts []fact) string {
	texts := make([]string, 0, len(facts))
	for _, f := range facts {
		texts = append(texts, f.String())
	}
	return fewOf(texts)
}

// String writes a fact as a person would.
func (f fact) String() string {
	if f.Value == nil {
		return cutRunes(f.Key, maxQuoted)
	}
	return cutRunes(f.Key, maxQuoted) + " = " + quote(plainText(f.Value))
}

// matches reports whether another fact has the same key and, if one is wanted, the same value.
func (f fact) matches(other fact) bool {
	return f.Key == other.Key && (f.Value == nil || sameText(f.Value, other.Value))
}

// sameText compares the values of facts without regard to case.
func sameText(a, b any) bool {
	return caseIgnored.of(plainText(a)) == caseIgnored.of(plainText(b))
}

// errNoMemory is the reason why facts cannot be graded.
var errNoMemory = errors.New("the agent does not show the facts of its memory (`memory.facts` of its state)")

// liveFacts returns the facts in the memory of a state. An error says why they are not known.
func liveFacts(state json.RawMessage) ([]fact, error) {
	var shown struct {
		Memory *memory `json:"memory"`
	}
	if err := decodeState(state, &shown); err != nil {
		return nil, err
	}
	if shown.Memory == nil || shown.Memory.Facts == nil {
		return nil, errNoMemory
	}
	return shown.Memory.live(), nil
}

// wantedFact is a fact in an assertion.
type wantedFact struct {
	Key   string  `json:"key"`
	Value *string `json:"value"`
}

// readFact reads {key, value}; a plain text is a key.
func readFact(n source.Node) fact {
	var w wantedFact
	if n.Kind == source.Map {
		source.Decode(n, &w)
	} else {
		w.Key = n.Text()
	}
	f := fact{Key: w.Key}
	if w.Value != nil {
		f.Value = *w.Value
	}
	return f
}
