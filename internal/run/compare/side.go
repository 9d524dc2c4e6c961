package compare

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// key is what makes a test of two runs the same: its suite, id and target, which is empty where targets are ignored.
type key struct{ suite, id, target string }

func keyOf(k result.Key, o Options) key {
	if o.IgnoreTarget {
		k.Target = ""
	}
	return key{k.Suite, k.TestID, k.Target}
}

func (k key) compare(other key) int {
	return cmp.Or(cmp.Compare(k.suite, other.suite), cmp.Compare(k.id, other.id), cmp.Compare(k.target, other.target))
}

// test is what a comparison remembers of a test.
type test struct {
	key
	// of is its target.
	of      string
	verdict result.Verdict
	score   float64
	// graded is the record's graded score; nil where it has none.
	graded *float64
	codes  []result.Code
	terms  terms
	// cluster is that of the record, required whether it decides the gate alone.
	cluster               string
	required, quarantined bool
	// passed of trials trials passed; trials is 0 where the test has none, or they are not a sample.
	passed, trials int
	// retried is true where a repeat graded what the run could not.
	retried bool
	// nth is the place of the record among those of its run, from 0.
	nth int
}

// side is a run that was read.
type side struct {
	// tests are those that it held or skipped, by name.
	tests []test
	// run has its totals, once all is read counted from the tests where its record lacks them.
	run result.Run
	// named are tests that the run names as not run; a record that it has of one is an older one.
	named map[key]bool
	// begun are tests with trials and no aggregate, ended those with one.
	begun, ended map[key]bool
}

// maxExpected bounds for how many tests room is made before they are there.
const maxExpected = 1 << 17

// read reads a run; name says which of the two it is.
func read(name string, from Side, o Options) (*side, error) {
	if err := o.Check(name, len(from.Run.Targets)); err != nil {
		return nil, err
	}
	expected := min(max(from.Run.Totals.Tests, 0), maxExpected)
	s := &side{
		run: from.Run, tests: make([]test, 0, expected), named: map[key]bool{}, begun: map[key]bool{},
		ended: map[key]bool{},
	}
	for _, k := range from.Run.NotRun {
		s.named[keyOf(k, o)] = true
	}
	leftOut := map[result.Key]bool{}
	for _, k := range from.Run.LeftOut {
		leftOut[k] = true
	}
	var records result.Tallies
	target, nth := "", -1
	for t, err := range from.Tests {
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		nth++
		whole := t.Key()
		if whole.Trial = 0; leftOut[whole] {
			continue
		}
		graded, retried := from.Retried[t.Key()]
		if retried {
			t = graded
		}
		if target = cmp.Or(target, t.Target); t.Target != target {
			if err := o.Check(name, 2); err != nil {
				return nil, err
			}
		}
		if s.run.Totals.Tests == 0 {
			records.Add(t)
		}
		if key := keyOf(t.Key(), o); s.counts(t, key) {
			s.tests = append(s.tests, testOf(key, t, nth))
			s.tests[len(s.tests)-1].retried = retried
		}
	}
	if s.run.Totals.Tests == 0 {
		s.run.Count(&records, s.run.Planned())
	}
	slices.SortFunc(s.tests, func(a, b test) int { return cmp.Or(a.compare(b.key), cmp.Compare(a.nth, b.nth)) })
	return s, nil
}

// testOf returns what a comparison remembers of a record.
func testOf(key key, t *result.Test, nth int) test {
	x := test{
		key: key, of: t.Target, verdict: deciding(t), score: t.Score, graded: t.GradedScore, codes: t.Codes(),
		terms: termsOf(t), cluster: t.Cluster, required: t.Required, quarantined: t.Quarantined != nil, nth: nth,
	}
	// which stops at the first pass
	if t.Trials != nil && len(t.Trials.PassHatK) > 0 && t.Trials.Strategy != string(suite.PassAtK) {
		x.passed, x.trials = t.Trials.Passed, len(t.Trials.PassHatK)
	}
	return x
}

// deciding returns the verdict of a record as far as it decides something: one in quarantine is not comparable, as one
// that was skipped.
func deciding(t *result.Test) result.Verdict {
	if t.Quarantined != nil {
		return result.Skip
	}
	return t.Verdict
}

// counts reports whether a record is a whole test that the run held or skipped.
func (s *side) counts(t *result.Test, key key) bool {
	switch {
	case s.named[key]:
		return false
	case t.Trial > 0:
		if !s.ended[key] {
			s.begun[key] = true
		}
		return false
	case t.Trials != nil:
		s.ended[key] = true
		delete(s.begun, key)
	}
	return true
}

// nameNotRun marks, among tests that the run lacks, those that it planned; verdict is where the mark goes. A run that
// died names none: then all that it lacks were planned, unless they are more than it did not run.
func (s *side) nameNotRun(lacking []result.Change, o Options, verdict func(*result.Change) *result.Verdict) {
	unnamed := 0
	for i := range lacking {
		x := &lacking[i]
		if key := keyOf(result.Key{Suite: x.Suite, TestID: x.TestID, Target: x.Target}, o); s.named[key] ||
			s.begun[key] {
			*verdict(x) = result.NotRun
		} else {
			unnamed++
		}
	}
	if unnamed > s.run.Totals.NotRun-len(s.named)-len(s.begun) {
		return
	}
	for i := range lacking {
		*verdict(&lacking[i]) = result.NotRun
	}
}
