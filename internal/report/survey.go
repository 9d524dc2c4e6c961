package report

import (
	"cmp"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/run/annotation"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/quarantine"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// maxEntries is how many failing and how many other tests a survey remembers one by one.
const maxEntries = maxRows

// id names a test of a run: what its trials have in common.
type id struct{ suite, test, target string }

func idOf(t *result.Test) id { return id{t.Suite, t.TestID, t.Target} }

func (a id) compare(b id) int {
	return cmp.Or(cmp.Compare(a.suite, b.suite), cmp.Compare(a.test, b.test), cmp.Compare(a.target, b.target))
}

// entry is one test at a glance.
type entry struct {
	id
	verdict   result.Verdict
	score     float64
	graded    *float64
	threshold float64
	// checks says which checks of a passed test failed; empty where none did.
	checks     string
	durationMS float64
	turns      int
	codes      []result.Code
	// at is where the test was written, position its place in its suite; spot is the id on the page of what explains
	// the verdict.
	at       written
	position int
	spot     string
	// quarantined has the terms of a test that is in quarantine: its verdict decides nothing.
	quarantined *quarantine.Terms
	// review is what somebody decided over the verdict; nil where nobody did.
	review *annotation.Annotation
	// nth is its place among those that have ended.
	nth int
	// reason says why a test was skipped, cut which of its replies ended early.
	reason, cut string
	// user says what the simulated user did; empty without one.
	user string
	// Of a test with trials: what the aggregate says, and how many of their records there are.
	trials   *result.Trials
	failures []result.Failure
	held     int
	// notRun is true of a test that was planned and has no record, or only trials.
	notRun bool
}

func (e *entry) key() result.Key {
	return result.Key{Suite: e.suite, TestID: e.test, Target: e.target}
}

// failing tells a test that needs a look from one that does not.
func (e *entry) failing() bool {
	return (e.verdict == result.Fail || e.verdict == result.Error) && e.quarantined == nil
}

// suiteTally counts the tests of one suite.
type suiteTally struct {
	name                             string
	tests, failures, errors, skipped int
	ms                               float64
}

// survey is what one pass over the tests finds: enough to choose what is shown and to count the rest. It remembers a
// bounded number of tests, the counts of each suite, and the names of the tests with trials.
type survey struct {
	failing, others []*entry
	quarantined     []*entry      // the first of them
	notRun          []*entry      // all that are known by name
	suites          []*suiteTally // in the order of their first test
	bySuite         map[string]*suiteTally
	added           int
	records         result.Tallies
}

// readSurvey makes the survey.
func readSurvey(run result.Run, tests runlog.Stream) (*survey, error) {
	s := &survey{bySuite: map[string]*suiteTally{}}
	begun := map[id]*entry{}   // with trials, whose aggregate has not come yet
	ended := map[id]struct{}{} // with trials, whose aggregate has come
	for r, err := range tests {
		if err != nil {
			return nil, err
		}
		t := r.Brief
		s.records.Add(t)
		key := idOf(t)
		if t.Trial > 0 {
			if _, ok := ended[key]; !ok {
				begun[key] = withTrial(begun[key], t)
			}
			continue
		}
		e, err := glance(r)
		if err != nil {
			return nil, err
		}
		if t.Trials != nil {
			ended[key] = struct{}{}
			if before := begun[key]; before != nil {
				e.held, e.turns = before.held, before.turns
				delete(begun, key)
			}
		}
		s.add(e)
	}
	s.addNotRun(run, begun)
	return s, nil
}

// addNotRun adds the tests that were not run. The run names some of them; others have trials and no aggregate.
func (s *survey) addNotRun(run result.Run, begun map[id]*entry) {
	why := "not run: " + whyStopped(run)
	for _, key := range run.NotRun {
		of := id{key.Suite, key.TestID, key.Target}
		e := begun[of]
		if delete(begun, of); e == nil {
			e = &entry{id: of, verdict: result.Skip}
		}
		s.notRun = append(s.notRun, e)
	}
	s.notRun = append(s.notRun, inOrder(begun)...)
	for _, e := range s.notRun {
		message := why
		if e.held > 0 {
			message += " after " + text.Plural(e.held, "trial")
		}
		e.notRun, e.failures = true, []result.Failure{{Source: "orchestrator", Message: message}}
		s.add(e)
	}
}

// whyStopped says why a run held less than it set out to hold.
func whyStopped(run result.Run) string {
	switch run.ExitReason {
	case result.ReasonBudget:
		return "the budget was spent"
	case result.ReasonInterrupted:
		return "the run was interrupted"
	case result.ReasonAborted:
		return "the run was aborted"
	}
	return "the run ended"
}

// glance returns the entry of a record.
func glance(r *runlog.Record) (*entry, error) {
	e := entryOf(r.Brief)
	if endsEarly(r.Brief) {
		t, err := r.Decode()
		if err != nil {
			return nil, err
		}
		e.cut = cutTurns(t)
	}
	return e, nil
}

// entryOf returns the entry of a record in brief, without what would keep its conversation in memory.
func entryOf(t *result.Test) *entry {
	e := &entry{
		id: idOf(t), verdict: t.Verdict, score: t.Score, graded: t.GradedScore, checks: failedWords(t),
		threshold: t.Threshold, durationMS: t.DurationMS,
		turns: len(t.Turns), codes: t.Codes(), trials: t.Trials, reason: t.SkipReason, position: t.Position,
		at: writtenAt(t), spot: spotOf(t), quarantined: t.Quarantined, user: userLine(t.User),
	}
	if t.Trials != nil {
		e.failures = slices.Clone(t.Failures[:min(len(t.Failures), 20)])
	}
	return e
}

// withTrial makes, or extends, the entry of a test that has trials but no aggregate yet.
func withTrial(e *entry, t *result.Test) *entry {
	if e == nil {
		e = &entry{id: idOf(t), verdict: result.Skip, threshold: t.Threshold, trials: &result.Trials{}}
	}
	e.held++
	e.trials.Count++
	e.trials.Scores = append(e.trials.Scores, t.Score)
	if t.Verdict == result.Pass {
		e.trials.Passed++
	}
	e.durationMS += t.DurationMS
	e.turns = max(e.turns, len(t.Turns))
	return e
}

// add counts a test with its suite and remembers it if there is room.
func (s *survey) add(e *entry) {
	tally := s.bySuite[e.suite]
	if tally == nil {
		tally = &suiteTally{name: e.suite}
		s.bySuite[e.suite] = tally
		s.suites = append(s.suites, tally)
	}
	tally.tests++
	s.added++
	e.nth = s.added
	tally.ms += e.durationMS
	verdict := e.verdict
	if e.quarantined != nil {
		verdict = result.Skip
		if len(s.quarantined) < maxQuarantined {
			s.quarantined = append(s.quarantined, e)
		}
	}
	switch verdict {
	case result.Fail:
		tally.failures++
	case result.Error:
		tally.errors++
	case result.Skip, result.Ungraded:
		tally.skipped++
	}
	list := &s.others
	if e.failing() {
		list = &s.failing
	}
	if len(*list) < maxEntries {
		*list = append(*list, e)
	}
}

// inOrder returns the entries in an order that does not depend on the map's.
func inOrder(begun map[id]*entry) []*entry {
	entries := make([]*entry, 0, len(begun))
	for _, e := range begun {
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b *entry) int { return a.compare(b.id) })
	return entries
}
