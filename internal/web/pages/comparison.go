package pages

import (
	"crypto/sha256"
	"encoding/json"
	"strconv"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/run/annotation"
	"github.com/rehearse-dev/rehearse/internal/run/compare"
	"github.com/rehearse-dev/rehearse/internal/run/runindex"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// comparisons keeps comparisons that were made. It is safe for concurrent use; the zero value is empty.
type comparisons struct {
	mu         sync.Mutex
	cacheTimes map[compared]*comparison
}

type compared struct {
	a, b             *runindex.Index
	aTarget, bTarget string
	ignoreTarget     bool
	// decidedA and decidedB are what people decided over the machine's verdicts.
	decidedA, decidedB decisions
}

// decisions tells what people decided over the verdicts of a run from everything else that they may decide.
type decisions [sha256.Size]byte

// decidedBy returns the decisions of a book; none for nil, over which the machine's verdicts stand, as for a book in
// which nobody decided.
func decidedBy(book *annotation.Book) (d decisions) {
	if book == nil {
		return d
	}
	var all [][]string
	for _, a := range book.All {
		if a.Kind == annotation.Override {
			all = append(all, []string{a.Suite, a.TestID, a.Target, strconv.Itoa(a.Trial), a.Item, a.Verdict})
		}
	}
	if all == nil {
		return d
	}
	written, _ := json.Marshal(all) // texts can be written
	return sha256.Sum256(written)
}

// comparison is what came of comparing two runs.
type comparison struct {
	// made is closed when the rest is there.
	made  chan struct{}
	err   error // why the runs cannot be compared
	lists *result.Comparison
	// prints is how many tests something else than the agent decided anew.
	prints  int
	metrics []metric
}

// maxComparisons bounds how many comparisons are kept.
const maxComparisons = 8

// of returns the comparison of two runs.
func (c *comparisons) of(a, b side, ignoreTarget bool) *comparison {
	key := compared{a.Index, b.Index, a.Target, b.Target, ignoreTarget, decidedBy(a.book), decidedBy(b.book)}
	c.mu.Lock()
	kept := c.cacheTimes[key]
	if kept != nil {
		c.mu.Unlock()
		<-kept.made
		return kept
	}
	if c.cacheTimes == nil || len(c.cacheTimes) >= maxComparisons {
		c.cacheTimes = map[compared]*comparison{}
	}
	kept = &comparison{made: make(chan struct{})}
	c.cacheTimes[key] = kept
	c.mu.Unlock()
	defer close(kept.made)
	kept.make(a, b, ignoreTarget)
	return kept
}

// make compares two runs in everything that a page tells.
func (c *comparison) make(a, b side, ignoreTarget bool) {
	var was, now []measures
	matched, err := compare.Match(a.compared(&was), b.compared(&now), compare.Options{IgnoreTarget: ignoreTarget})
	if err != nil {
		c.err = err
		return
	}
	pairs := make([]pair, len(matched.Pairs))
	for i, p := range matched.Pairs {
		pairs[i] = pair{&was[p.Was], &now[p.Now], p.Cluster}
	}
	metrics, scores := metricsOf(pairs, matched.Scores())
	matched.Conclude(scores)
	c.lists, c.prints, c.metrics = matched.Comparison, prints(pairs), metrics
}

// prints counts the tests of both runs whose records something else decided.
func prints(pairs []pair) (n int) {
	for _, pair := range pairs {
		if pair.a.Print != 0 && pair.b.Print != 0 && pair.a.Print != pair.b.Print && pair.a.target == pair.b.target {
			n++
		}
	}
	return n
}
