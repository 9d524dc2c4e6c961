package pages

import (
	"slices"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/eval/grader"
	"github.com/rehearse-dev/rehearse/internal/run/annotation"
	"github.com/rehearse-dev/rehearse/internal/run/runindex"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// judgement is an assertion of a record that a judge decided. There may be very many.
type judgement struct {
	*runindex.Row
	Item, Assertion, Grader string
	Label                   *annotation.Annotation
	passed                  bool
}

// Judged is what the judge said: pass or fail.
func (j judgement) Judged() string {
	if j.passed {
		return "pass"
	}
	return "fail"
}

// judgedNames are the graders that ask a model, and what the calls are named that a test without such an assertion has.
var judgedNames = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{"expected_output": true, "criteria": true}
	for _, k := range grader.Builtin() {
		if k.Judged {
			for _, name := range append([]string{k.Name}, k.Aliases...) {
				names[name] = true
			}
		}
	}
	return names
})

// maxJudgements bounds how many judgements of one run are looked at.
const maxJudgements = 50_000

// judgedRuns keeps the judged assertions of runs that were looked at. It is safe for concurrent use; the zero value is
// empty.
type judgedRuns struct {
	mu         sync.Mutex
	cacheTimes map[*runindex.Index]judgedRun
}

// judgedRun are the judged assertions of a run in its order, with their graders. More is true where there are others.
type judgedRun struct {
	all     []judgement
	graders []string
	more    bool
}

// maxJudgedRuns bounds how many runs are kept.
const maxJudgedRuns = 4

// of returns the judged assertions of a run, without labels. The slice is shared.
func (c *judgedRuns) of(run *runindex.Found, index *runindex.Index) (judgedRun, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if kept, ok := c.cacheTimes[index]; ok {
		return kept, nil
	}
	read, err := judgedIn(run, index)
	if err != nil {
		return judgedRun{}, err
	}
	if c.cacheTimes == nil || len(c.cacheTimes) >= maxJudgedRuns {
		c.cacheTimes = map[*runindex.Index]judgedRun{}
	}
	c.cacheTimes[index] = read
	return read, nil
}

// judgedIn reads the judged assertions of a run.
func judgedIn(run *runindex.Found, index *runindex.Index) (of judgedRun, err error) {
	const together = 1024
	rows := judgedRows(index)
	defer func() {
		for _, j := range of.all {
			if !slices.Contains(of.graders, j.Grader) {
				of.graders = append(of.graders, j.Grader)
			}
		}
	}()
	for from := 0; from < len(rows); from += together {
		some := rows[from:min(len(rows), from+together)]
		found := make([][]judgement, len(some))
		if err := run.Grades(some, func(i int, t *result.Test) { found[i] = judgementsOf(t, some[i]) }); err != nil {
			return of, err
		}
		of.all = slices.Grow(of.all, min(maxJudgements, len(rows)*len(found[0])))
		for _, list := range found {
			of.all = append(of.all, list...)
			if len(of.all) > maxJudgements {
				of.all, of.more = of.all[:maxJudgements], true
				return of, nil
			}
		}
	}
	return of, nil
}

// judgedRows returns the rows of an index in which a judge decided something.
func judgedRows(index *runindex.Index) (judged []*runindex.Row) {
	names := judgedNames()
	for _, e := range index.Tests {
		rows := e.Of
		if len(rows) == 0 {
			rows = []*runindex.Row{e.Row}
		}
		for _, row := range rows {
			asked := row.Judge.Calls+row.Judge.CacheHits > 0 // an author may have named the assertion
			if asked || slices.ContainsFunc(row.Graders, func(name string) bool { return names[name] }) {
				judged = append(judged, row)
			}
		}
	}
	return judged
}

// judgementsOf returns the judged assertions of the record of a row.
func judgementsOf(t *result.Test, row *runindex.Row) (all []judgement) {
	names, assertions := judgedNames(), 0
	for i := range t.Scores {
		assertions += len(t.Scores[i].Assertions)
	}
	all = make([]judgement, 0, assertions)
	for i := range t.Scores {
		s := &t.Scores[i]
		for j := range s.Assertions {
			a := &s.Assertions[j]
			// an item has a type where all that grades it has
			judged := names[a.Grader] || len(a.Voters) > 0 || names[s.Type]
			if !judged || a.Evidence == result.NotCalled {
				continue
			}
			all = append(all, judgement{Row: row, Item: s.Name, Assertion: a.Text, Grader: a.Grader, passed: a.Passed})
		}
	}
	return all
}
