package view

import (
	"crypto/sha256"
	"encoding/json"
	"strconv"
	"sync"

	"rehearse/internal/annotation"
	"rehearse/internal/archive"
	"rehearse/internal/compare"
	"rehearse/internal/result"
)

// comparisons keeps comparisons that were made. It is safe for concurrent use; the zero value is empty.
type comparisons struct {
	mu   sync.Mutex
	kept map[compared]*comparison
}

type compared struct {
	a, b             *archive.Index
	aTarget, bTarget string
	ignoreTarget     bool
	// decidedA and decidedB are what people decided over the machine's verdicts.
	decidedA, decidedB decisions
}

// decisions tells what people decided over the verdicts of a run from everything else that they may decide.
type decisions [sha256.Size]byte

// decidedBy returns the decisions of a book; none for nil, over which the machine's verdicts stand, as for a book in which nobody decided.
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

// comparison is what came of comparing two runs. It is made in two steps: lists are there at once, figures a while later.
type comparison struct {
	// matched is closed when lists, or err, and prints are there.
	matched chan struct{}
	lists   *result.Comparison
	// prints is how many tests something else than the agent decided anew.
	prints int
	err    error // why the runs cannot be compared

	// figured is closed when metrics and verdict, that of the mean score, are there.
	figured chan struct{}
	metrics []metric
	verdict string
}

// maxComparisons bounds how many comparisons are kept.
const maxComparisons = 8

// of returns the comparison of two runs, with its lists. Its figures are being made if they are not there.
func (c *comparisons) of(a, b side, ignoreTarget bool) *comparison {
	key := compared{a.Index, b.Index, a.Target, b.Target, ignoreTarget, decidedBy(a.book), decidedBy(b.book)}
	c.mu.Lock()
	made := c.kept[key]
	if made != nil {
		c.mu.Unlock()
		<-made.matched
		return made
	}
	if c.kept == nil || len(c.kept) >= maxComparisons {
		c.kept = map[compared]*comparison{}
	}
	made = &comparison{matched: make(chan struct{}), figured: make(chan struct{})}
	c.kept[key] = made
	c.mu.Unlock()
	made.make(a, b, ignoreTarget)
	return made
}

// make compares two runs in everything that a page tells. Its lists are those of suites.md 8.
func (c *comparison) make(a, b side, ignoreTarget bool) {
	defer close(c.matched)
	var was, now []*archive.Entry
	matched, err := compare.Match(a.compared(&was), b.compared(&now), compare.Options{IgnoreTarget: ignoreTarget})
	if err != nil {
		c.err = err
		close(c.figured)
		return
	}
	pairs := make([]pair, len(matched.Pairs))
	for i, p := range matched.Pairs {
		pairs[i] = pair{a.reviewed(was[p.Was]), b.reviewed(now[p.Now])}
	}
	c.lists, c.prints = matched.Comparison, prints(pairs)
	go func() {
		defer close(c.figured)
		metrics, scores := metricsOf(pairs, matched.Scores())
		matched.Conclude(scores)
		c.metrics, c.verdict = metrics, matched.Comparison.Verdict
	}()
}

// figures waits for the figures.
func (c *comparison) figures() []metric {
	<-c.figured
	return c.metrics
}

// prints counts the tests of both runs whose records something else decided.
func prints(pairs []pair) (n int) {
	for _, pair := range pairs {
		if pair.a.Print != 0 && pair.b.Print != 0 && pair.a.Print != pair.b.Print && pair.a.Target == pair.b.Target {
			n++
		}
	}
	return n
}
