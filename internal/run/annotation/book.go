package annotation

import (
	"cmp"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Book is what holds of the annotations of a run. The zero value holds nothing. It is safe for concurrent reading.
type Book struct {
	// All are the annotations, each once, in the order in which they were made.
	All       []Annotation
	overrides map[position]Annotation
	labels    map[position]Annotation
	// quarantined has the quarantine of a test by its suite and id, tests the override of a test as a whole, whichever
	// of its trials was looked at.
	quarantined, tests map[result.Key]Annotation
	// touched are the tests that somebody decided over, as a whole or in part.
	touched map[result.Key]bool
}

// position is what an annotation is about.
type position struct {
	key             result.Key
	item, assertion string
}

func (a *Annotation) position() position { return position{a.Key(), a.Item, a.Assertion} }

// BookOf makes a book of annotations of one run, which may come from several places and more than once.
func BookOf(lists ...[]Annotation) *Book {
	b := &Book{
		overrides: map[position]Annotation{}, labels: map[position]Annotation{},
		quarantined: map[result.Key]Annotation{}, tests: map[result.Key]Annotation{}, touched: map[result.Key]bool{},
	}
	seen := map[Annotation]bool{}
	for _, list := range lists {
		for _, a := range list {
			a.RunID, a.At = "", a.At.UTC()
			if !seen[a] {
				seen[a] = true
				b.All = append(b.All, a)
			}
		}
	}
	slices.SortStableFunc(b.All, func(x, y Annotation) int { return x.At.Compare(y.At) })
	for _, a := range b.All {
		switch a.Kind {
		case Override:
			if b.overrides[a.position()] = a; a.Verdict == None {
				delete(b.overrides, a.position())
			}
		case Quarantine:
			b.quarantined[result.Key{Suite: a.Suite, TestID: a.TestID}] = a
		case Label:
			b.labels[a.position()] = a
		}
	}
	b.judgeTests()
	return b
}

// Lacking returns the annotations that are not among others.
func (b *Book) Lacking(others []Annotation) (lacking []Annotation) {
	has := BookOf(others)
	there := make(map[Annotation]bool, len(has.All))
	for _, a := range has.All {
		there[a] = true
	}
	for _, a := range b.All {
		if !there[a] {
			lacking = append(lacking, a)
		}
	}
	return lacking
}

// judgeTests finds what holds of tests as a whole: of the overrides that were not taken back the last, whichever trial
// it was made at.
func (b *Book) judgeTests() {
	for _, a := range b.All {
		if a.Kind != Override || b.overrides[a.position()] != a {
			continue
		}
		test := result.Key{Suite: a.Suite, TestID: a.TestID, Target: a.Target}
		if b.touched[test] = true; a.Item == "" {
			b.tests[test] = a
		}
	}
}

// in returns a copy of what a map has of a key, nil for nothing. It makes none where there is nothing, as for most
// tests of a run.
func in[K comparable](all map[K]Annotation, key K) *Annotation {
	found, ok := all[key]
	if !ok {
		return nil
	}
	a := found
	return &a
}

// Override returns what somebody decided over the machine's verdict of a record, nil for nothing.
func (b *Book) Override(key result.Key) *Annotation {
	if b == nil {
		return nil
	}
	return in(b.overrides, position{key: key})
}

// OfTest returns what somebody decided last over the verdict of a test, whichever of its trials was looked at; nil for
// nothing.
func (b *Book) OfTest(suite, test, target string) *Annotation {
	if b == nil {
		return nil
	}
	return in(b.tests, result.Key{Suite: suite, TestID: test, Target: target})
}

// Quarantine returns the quarantine that was set last for a test while looking at this run; nil for none.
func (b *Book) Quarantine(suite, test string) *Annotation {
	if b == nil {
		return nil
	}
	return in(b.quarantined, result.Key{Suite: suite, TestID: test})
}

// Overrides returns the overrides of a record: of the whole first, then of its items.
func (b *Book) Overrides(key result.Key) (all []Annotation) {
	if b == nil {
		return nil
	}
	for at, a := range b.overrides {
		if at.key == key {
			all = append(all, a)
		}
	}
	slices.SortFunc(all, func(x, y Annotation) int { return cmp.Compare(x.Item, y.Item) })
	return all
}

// Label returns the label of a judged assertion, nil for none.
func (b *Book) Label(key result.Key, item, assertion string) *Annotation {
	if b == nil {
		return nil
	}
	return in(b.labels, position{key, item, assertion})
}

// HasOverrides reports whether somebody decided over a test, or over a part of it.
func (b *Book) HasOverrides(suite, test, target string) bool {
	return b != nil && b.touched[result.Key{Suite: suite, TestID: test, Target: target}]
}

// Verdict returns the verdict of a test after review: somebody's, else the machine's.
func (b *Book) Verdict(key result.Key, machine result.Verdict) result.Verdict {
	if a := b.OfTest(key.Suite, key.TestID, key.Target); a != nil {
		return result.Verdict(a.Verdict)
	}
	return machine
}
