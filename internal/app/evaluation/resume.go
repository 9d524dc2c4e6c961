package evaluation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/report"
	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/quarantine"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// takeFolder locks and prepares the run's folder. A resumed run keeps its ID and its start; an earlier run in the
// folder is moved aside.
func (e *Evaluation) takeFolder(ctx context.Context, h *Completed) (err error) {
	if err := os.MkdirAll(h.Dir, 0o700); err != nil {
		return source.Invalid("cannot write results: %w", err)
	}
	if h.lock, err = runlog.AcquireLock(ctx, h.Dir); err != nil {
		return source.AsInvalid(err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.lock.Release())
		}
	}()
	if err := e.foreign(h.Dir); err != nil {
		return err
	}
	if !e.Resume {
		return e.setAside(h.Dir)
	}
	before, err := runlog.ReadRun(h.Dir)
	if err != nil {
		return source.Invalid("cannot resume: %w", err)
	}
	h.Run.ID, h.Run.StartedAt, h.Run.DurationMS, h.reruns = before.ID, before.StartedAt,
		before.DurationMS, before.Reruns()
	return nil
}

// foreign refuses a folder with a file that the run would write and that no run has written.
func (e *Evaluation) foreign(dir string) error {
	writes := report.Formats().Choose(e.Formats).Marks()
	maps.Copy(writes, e.Writes)
	foreign, err := runlog.Unrelated(dir, writes)
	if foreign != "" {
		return source.Invalid("cannot write results: %s is there and no run has written it: move it away, "+
			"or choose another folder with --out",
			filepath.Join(dir, foreign))
	}
	if err != nil {
		return source.Invalid("cannot write results: %w", err)
	}
	return nil
}

// setAside moves the results of an earlier run out of a folder that is used again, so that they are not lost.
func (e *Evaluation) setAside(dir string) error {
	aside, err := runlog.MoveAside(dir, report.Owned())
	if err != nil || aside == "" {
		return err
	}
	if sameFolder(e.baseline, dir) {
		e.baseline = aside
	}
	e.warn("the earlier run in " + dir + " is moved to " + aside)
	return nil
}

func sameFolder(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	two, err := os.Stat(b)
	return err == nil && os.SameFile(one, two)
}

// prior has the outcomes of conversations that a resumed run has finished.
type prior struct {
	outcomes map[result.Key]orchestrator.Outcome
	tests    int
	// wanted has the fingerprint of every test of the plan.
	wanted map[result.Key]string
	// quarantined has the terms of those of them that are in quarantine.
	quarantined map[result.Key]*quarantine.Terms
	// again are the tests that have a record and are run again; changed counts those of them that are not what they
	// were.
	again   map[result.Key]bool
	changed int
	// reruns counts those that run again because they failed.
	reruns int
	// leftOut are tests with records that the plan does not have.
	leftOut map[result.Key]bool
	// spent is what is known to have been spent so far; nothing without a budget.
	spent orchestrator.Budget
}

func (p prior) outcome(k result.Key) (orchestrator.Outcome, bool) {
	o, ok := p.outcomes[k]
	return o, ok
}

// prior reads the outcomes to keep: those of the plan's tests that are still what they were. Rerun leaves out what
// failed, with all trials of such a test. It changes nothing on disk.
func (e *Evaluation) prior(dir string, f *fingerprints) (prior, error) {
	p := prior{
		outcomes: map[result.Key]orchestrator.Outcome{}, wanted: map[result.Key]string{}, again: map[result.Key]bool{},
		leftOut: map[result.Key]bool{}, quarantined: map[result.Key]*quarantine.Terms{},
	}
	if !e.Resume {
		return p, nil
	}
	if e.planned.budget.Bounded() {
		spent, err := runlog.Spent(dir)
		if err != nil {
			return p, err
		}
		p.spent.USD, p.spent.Tokens = spent.USD, spent.Tokens
	}
	for u, err := range e.planned.units() {
		if err != nil {
			return p, err
		}
		if p.wanted[e.logged(keyOf(u))], _, err = f.of(u); err != nil {
			return p, err
		}
		p.quarantined[e.logged(keyOf(u))] = e.quarantined(u.Test)
	}
	stale := map[result.Key]bool{}
	for t, err := range runlog.Read(dir) {
		if err != nil {
			return p, err
		}
		whole := conversationKey(t)
		switch now, planned := p.wanted[whole]; {
		case !planned:
			p.leftOut[whole] = true
			continue
		case t.Fingerprint != now || !sameTerms(t.Quarantined, p.quarantined[whole]):
			stale[whole] = true
			continue
		}
		p.outcomes[t.Key()] = orchestrator.OutcomeOf(t)
		// A skipped test depended on one that failed or broke. It may pass now.
		failed := t.Verdict == result.Fail && e.Rerun == "failed"
		broke := (t.Verdict == result.Error || t.Verdict == result.Skip) && e.Rerun != ""
		if t.Trial == 0 && (failed || broke) {
			p.again[whole] = true
		}
		if t.Trial == 0 && failed {
			p.reruns++
		}
	}
	p.changed = len(stale)
	maps.Copy(p.again, stale)
	e.runAgainDependents(p)
	for k := range p.outcomes {
		whole := k
		whole.Trial = 0
		if p.again[whole] {
			delete(p.outcomes, k)
		} else if k.Trial == 0 {
			p.tests++
		}
	}
	return p, nil
}

// clear makes the folder of a resumed run ready for it: the reports of its earlier part go, in every format, since they
// no longer tell what happened, and so do the records of tests that run again. run.json must say by then that the run
// is under way.
func (e *Evaluation) clear(dir string, p prior) error {
	if !e.Resume {
		return nil
	}
	if err := runlog.RemoveMarked(dir, report.Formats().Marks()); err != nil {
		return err
	}
	return runlog.Compact(dir, func(test result.Key) bool { return p.again[test] })
}

// runAgainDependents runs tests again that were skipped because of one that runs again.
func (e *Evaluation) runAgainDependents(p prior) {
	for again := true; again; {
		again = false
		for u, err := range e.planned.units() {
			if err != nil {
				return
			}
			key := e.logged(keyOf(u))
			if p.again[key] || p.outcomes[key].Verdict != result.Skip {
				continue
			}
			for _, id := range u.Test.DependsOn {
				if p.again[e.logged(result.Key{Suite: u.Test.Suite, TestID: id, Target: u.Target})] {
					p.again[key], again = true, true
				}
			}
		}
	}
}

// tell says what a resumed run makes of the records it found.
func (e *Evaluation) tell(p prior) {
	switch {
	case p.changed == 1:
		e.warn("1 test changed since and runs again")
	case p.changed > 1:
		e.warn(fmt.Sprintf("%d tests changed since and run again", p.changed))
	}
	if len(p.leftOut) > 0 {
		e.warn("records that count no longer, since their test or target is not part of the run: " +
			named(p.leftOutKeys()))
	}
}

// leftOutKeys returns the tests with records that the plan does not have, in order.
func (p prior) leftOutKeys() []result.Key {
	return slices.SortedFunc(maps.Keys(p.leftOut), compareKeys)
}

// compareKeys orders tests by their suites, ids and targets.
func compareKeys(a, b result.Key) int {
	return cmp.Or(cmp.Compare(a.Suite, b.Suite), cmp.Compare(a.TestID, b.TestID), cmp.Compare(a.Target, b.Target))
}

// maxNamed is how many tests a sentence names.
const maxNamed = 10

func named(keys []result.Key) string { return namedUpTo(keys, maxNamed) }

// namedUpTo names so many tests and counts the others.
func namedUpTo(keys []result.Key, most int) string {
	var names []string
	for i, k := range keys {
		if i == most {
			names = append(names, fmt.Sprintf("and %d more", len(keys)-i))
			break
		}
		name := k.TestID
		if k.Target != "" {
			name += " (" + k.Target + ")"
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// conversationKey returns the key of the test that a record belongs to, whatever its trial.
func conversationKey(t *result.Test) result.Key {
	key := t.Key()
	key.Trial = 0
	return key
}

// planned reports whether a test belongs to the plan of a resumed run.
func (p prior) planned(whole result.Key) bool {
	_, planned := p.wanted[whole]
	return planned
}

// recount counts the records in the log of a resumed run whose tests count.
func recount(dir string, counts func(whole result.Key) bool) (*result.Tallies, error) {
	records := &result.Tallies{}
	for t, err := range runlog.Read(dir) {
		if err != nil {
			return records, err
		}
		if counts(conversationKey(t)) {
			records.Add(t)
		}
	}
	return records, nil
}
