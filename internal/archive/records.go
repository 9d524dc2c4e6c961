package archive

import (
	"cmp"
	"slices"

	"rehearse/internal/result"
)

// sortedByName returns the tests of some lists by suite, id and target.
func sortedByName(lists ...[]*Entry) []*Entry {
	all := slices.Concat(lists...)
	slices.SortFunc(all, func(a, b *Entry) int {
		return cmp.Or(cmp.Compare(a.Suite, b.Suite), cmp.Compare(a.TestID, b.TestID), cmp.Compare(a.Target, b.Target))
	})
	return all
}

// Records yields what counts of each record of the index, for a comparison: keys, verdicts, scores and failure codes, with the test that it is of. A record
// counts until the next. Tests come by suite, id and target, the trials of each before itself.
func (x *Index) Records(yield func(*Entry, *result.Test) bool) {
	t := &result.Test{}
	for _, e := range x.byName() {
		for i := range len(e.Of) + 1 {
			row := e.Row
			if i < len(e.Of) {
				row = e.Of[i]
			}
			if row.Verdict == "" {
				continue
			}
			// Each field by itself: to copy whole records would be a fifth of the time that comparing large runs takes.
			t.Suite, t.TestID, t.Target, t.Trial = row.Suite, row.TestID, row.Target, row.Trial
			t.Verdict, t.Score, t.Trials, t.Quarantined = row.Verdict, row.Score, row.Trials, row.Quarantined
			t.Failures = t.Failures[:0]
			for _, code := range row.Codes {
				t.Failures = append(t.Failures, result.Failure{Code: code})
			}
			if !yield(e, t) {
				return
			}
		}
	}
}
