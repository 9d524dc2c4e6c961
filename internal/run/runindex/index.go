package runindex

import (
	"cmp"
	"slices"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Index is what a run's log held when it was read. It is never changed; its slices are the archive's.
type Index struct {
	// Run is the record of the run, its totals counted from the log where the record has none yet.
	Run result.Run
	// Tests are the tests that the run held or skipped, in the order of the run: suites and targets as they were given,
	// tests as in their file.
	Tests []*Entry
	// Pending are tests that the run planned and has not held, as far as they are known: those that it names, and those
	// with trials still to be held.
	Pending []*Entry
	// Unreadable counts lines of the log that are not records, Missing the records that the run counts and the log
	// lacks.
	Unreadable, Missing int

	find map[Test]*Entry
	// digests returns those of all tests by suite, id and target. They are made once.
	digests func() []digest
	lexicon *lexicon
	// records is how many records the log had, with those that a later one has replaced.
	records int
}

// Test names a test of a run with its target.
type Test struct{ Suite, ID, Target string }

func testOf(k result.Key) Test { return Test{k.Suite, k.TestID, k.Target} }

// Entry is a test with its trials.
type Entry struct {
	// Row is the test's; of a pending test only its key is set. Whoever shows another verdict copies it first.
	*Row
	// Of are the rows of its trials, by their numbers; none without trials.
	Of []*Row
	// Position is the index of the test in Tests; -1 for a pending one.
	Position int
}

// Find returns a test; nil if the run has no such test.
func (x *Index) Find(t Test) *Entry { return x.find[t] }

// Named returns the tests with an id in their order; an empty suite or target fits every one.
func (x *Index) Named(t Test) (found []*Entry) {
	if t.Suite != "" && t.Target != "" {
		if e := x.find[t]; e != nil {
			return []*Entry{e}
		}
	}
	for _, list := range [][]*Entry{x.Tests, x.Pending} {
		for _, e := range list {
			if e.TestID == t.ID && (t.Suite == "" || t.Suite == e.Suite) && (t.Target == "" || t.Target == e.Target) {
				found = append(found, e)
			}
		}
	}
	return found
}

// build makes an index of the rows of a log.
func build(run result.Run, rows []*Row, unreadable int) *Index {
	x := &Index{Run: run, Unreadable: unreadable, find: map[Test]*Entry{}}
	left, named := map[Test]bool{}, map[Test]bool{}
	for _, k := range run.LeftOut {
		left[testOf(k)] = true
	}
	for _, k := range run.NotRun {
		named[testOf(k)] = true
	}
	var all []*Entry
	var records result.Tallies
	turns := make([]result.Turn, mostTurns(rows))
	for _, r := range rows {
		key := testOf(r.Key)
		if left[key] {
			continue
		}
		records.Add(r.counted(turns))
		e := x.find[key]
		if e == nil {
			e = &Entry{Row: &Row{Key: result.Key{Suite: r.Suite, TestID: r.TestID, Target: r.Target}}, Position: -1}
			x.find[key] = e
			all = append(all, e)
		}
		if r.Trial > 0 {
			e.Of = append(e.Of, r)
		} else {
			e.Row = r
		}
	}
	for _, k := range run.NotRun {
		if key := testOf(k); x.find[key] == nil {
			x.find[key] = &Entry{Row: &Row{Key: k}, Position: -1}
			all = append(all, x.find[key])
		}
	}
	x.sort(all, named)
	x.digests = sync.OnceValue(func() []digest { return digestsOf(x.Tests, x.Pending) })
	x.count(&records)
	return x
}

// sort puts the tests in their order. Where a record does not say its place, the log decides, which has tests as they
// ended.
func (x *Index) sort(all []*Entry, named map[Test]bool) {
	suites, targets := map[string]int{}, map[string]int{}
	for i, name := range x.Run.Targets {
		targets[name] = i
	}
	rank := func(ranks map[string]int, name string) int {
		if _, ok := ranks[name]; !ok {
			ranks[name] = len(ranks)
		}
		return ranks[name]
	}
	// A test has the place of the record that was first of it, with whatever target.
	type test struct {
		position uint
		nth      int
	}
	type placed struct {
		test
		suite, target int
		e             *Entry
	}
	tests, places := make(map[Test]test, len(all)), make([]placed, len(all))
	for i, e := range all {
		key := Test{Suite: e.Suite, ID: e.TestID}
		of, ok := tests[key]
		if !ok {
			of = test{e.position(), len(tests)}
			tests[key] = of
		}
		places[i] = placed{of, rank(suites, e.Suite), rank(targets, e.Target), e}
	}
	slices.SortStableFunc(places, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.position, b.position), cmp.Compare(a.suite, b.suite), cmp.Compare(a.nth, b.nth),
			cmp.Compare(a.target, b.target))
	})
	for i, p := range places {
		all[i] = p.e
	}
	for _, e := range all {
		slices.SortFunc(e.Of, func(a, b *Row) int { return cmp.Compare(a.Trial, b.Trial) })
		if e.Verdict == "" || named[testOf(e.Key)] { // a record of a test that the run names as not run is an older one
			x.Pending = append(x.Pending, e)
			continue
		}
		e.Position = len(x.Tests)
		x.Tests = append(x.Tests, e)
	}
}

// position returns the place of the test in the run; the last one where no record says it.
func (e *Entry) position() uint {
	position := e.Position
	if position == 0 && len(e.Of) > 0 {
		position = e.Of[0].Position
	}
	return uint(position - 1)
}

// count fills in the totals of a run that is not finished, and counts the records that the log of a finished one lacks.
func (x *Index) count(records *result.Tallies) {
	if x.Run.ExitCode == nil || x.Run.Totals.Tests == 0 {
		x.Run.Count(records, x.Run.Planned())
		return
	}
	x.Missing = max(0, x.Run.Totals.Tests-records.Totals().Tests)
}

// mostTurns returns how many turns the longest conversation had.
func mostTurns(rows []*Row) (most int) {
	for _, r := range rows {
		most = max(most, r.Turns)
	}
	return most
}
