package evaluation

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// regraded is a finished run whose conversations are graded again.
type regraded struct {
	dir     string
	run     result.Run
	records *runlog.Records
	// tests are what the run recorded, by keys without a trial.
	tests map[result.Key]recordedTest
	// lacking are tests of the suites that the run did not record.
	lacking []result.Key
}

// recordedTest says how often a test was held; 0 stands for a test without trials.
type recordedTest struct {
	trials   int
	strategy suite.Strategy
}

// FinishedRun reads the record of a run that can be graded again. A run that has not come to its end is refused, and so
// is one whose tests are not those of suites.
func FinishedRun(dir string) (result.Run, error) {
	run, err := runlog.Inspect(dir)
	if err != nil {
		return run, source.Invalid("cannot grade %s again: %w", dir, err)
	}
	switch {
	case run.ExitReason == result.ReasonRunning:
		return run, source.Invalid("run %s is under way: it can be graded again when it has ended", run.ID)
	case run.Stopped() && run.RegradedFrom != "":
		return run, source.Invalid(
			"run %s did not come to its end (%s): grade the run again that it was made of: rehearse grade %s", run.ID,
			run.ExitReason, run.RegradedFrom)
	case run.Stopped():
		command := "run --resume " + dir
		if words := run.Continued(); words != nil {
			command = strings.Join(words, " ")
		}
		return run, source.Invalid("run %s did not come to its end (%s): finish it first: rehearse %s", run.ID,
			run.ExitReason, command)
	case len(run.Command) > 0 && !slices.Contains([]string{"run", "grade", "replay"}, run.Command[0]):
		return run, source.Invalid(
			"run %s was made by `rehearse %s`: only runs of suites and replays can be graded again", run.ID,
			run.Command[0])
	}
	return run, nil
}

// openRegraded opens a finished run.
func openRegraded(dir string) (r *regraded, err error) {
	r = &regraded{dir: dir, tests: map[result.Key]recordedTest{}}
	if r.run, err = FinishedRun(dir); err != nil {
		return nil, err
	}
	if r.records, err = runlog.OpenRecords(dir); err != nil {
		return nil, source.Invalid("cannot grade run %s again: %w", r.run.ID, err)
	}
	if err := r.count(); err != nil {
		_ = r.records.Close() // nothing was written
		return nil, source.Invalid("cannot grade run %s again: %w", r.run.ID, err)
	}
	return r, nil
}

// count fills tests. A log that has fewer records than the run had is an error: what is missing would not be missed.
func (r *regraded) count() error {
	left, whole, trials := map[result.Key]bool{}, 0, map[result.Key]int{}
	for _, key := range r.run.LeftOut {
		left[key] = true
	}
	for key := range r.records.Keys() {
		test := key
		if test.Trial = 0; left[test] {
			continue
		}
		if key.Trial == 0 {
			whole++
		} else {
			trials[test]++
		}
		of := r.tests[test]
		of.trials = max(of.trials, key.Trial)
		r.tests[test] = of
	}
	if whole != r.run.Totals.Tests || whole != len(r.tests) {
		return fmt.Errorf("its log has the records of %d of %s", whole,
			text.Plural(max(r.run.Totals.Tests, len(r.tests)), "test"))
	}
	for key, of := range r.tests {
		if of.trials != trials[key] {
			return fmt.Errorf("its log has %d of %d trials of test %s (%s)", trials[key], of.trials, key.TestID,
				key.Target)
		}
		if of.trials == 0 {
			continue
		}
		line, err := r.records.Line(key)
		if err != nil {
			return err
		}
		sum, err := runlog.Decode(line)
		if err != nil {
			return err
		}
		if sum.Trials != nil {
			of.strategy = suite.Strategy(sum.Trials.Strategy)
		}
		r.tests[key] = of
	}
	return nil
}

// regradedUnits returns a test once for each target that it was held with, as often as it was held. It waits for no
// other test: whether it was held is in the record.
func (e *Evaluation) regradedUnits(t *suite.Test) (units []orchestrator.Unit) {
	for _, target := range e.regraded.run.Targets {
		of, recorded := e.regraded.tests[e.logged(result.Key{Suite: t.Suite, TestID: t.ID, Target: target})]
		if !recorded {
			continue
		}
		own := *t
		own.DependsOn = nil
		own.Execution.Trials.Count = of.trials
		own.Execution.Trials.Strategy = cmp.Or(own.Execution.Trials.Strategy, of.strategy)
		units = append(units, orchestrator.Unit{Test: &own, Target: target})
	}
	return units
}

// match finds the tests of the suites that the run lacks, and returns those of the run that the suites lack.
func (e *Evaluation) match() (left []result.Key, err error) {
	r, present := e.regraded, map[testKey]bool{}
	for _, s := range e.suites {
		for t, err := range s.Tests() {
			if err != nil {
				return nil, source.AsInvalid(err)
			}
			key := e.logged(result.Key{Suite: t.Suite, TestID: t.ID})
			present[testKey{key.Suite, key.TestID}] = true
			if e.planned.selected != nil && !e.planned.selected[testKey{t.Suite, t.ID}] {
				continue
			}
			if len(e.regradedUnits(t)) == 0 {
				r.lacking = append(r.lacking, key)
			}
		}
	}
	for key := range r.tests {
		if !present[testKey{key.Suite, key.TestID}] {
			left = append(left, key)
		}
	}
	slices.SortFunc(left, compareKeys)
	return left, nil
}

// maxLacking is how many tests are named that the graded run lacks: only a note has them.
const maxLacking = 1_000

// tellRegraded says what is graded, and names the tests that are not.
func (e *Evaluation) tellRegraded(left []result.Key) {
	r := e.regraded
	e.warn("the conversations of run " + r.run.ID + " are graded again and no target is asked: replies, latencies, " +
		"tokens and costs of targets are those of that run, and only judges are paid")
	if len(r.lacking) > 0 {
		e.warn("not run, since run " + r.run.ID + " has no record of them: " + namedUpTo(r.lacking, maxLacking))
	}
	if len(left) > 0 {
		e.warn("left out, since the suites no longer have them: " + named(left))
	}
}

// regrade grades the recorded conversation of a job. An error means that the record cannot be read, or that the job was
// interrupted.
func (e *Evaluation) regrade(ctx context.Context, k result.Key, c runner.Conversation) (*result.Test, error) {
	line, err := e.regraded.records.Line(e.logged(k))
	if err != nil {
		return nil, err
	}
	secrets := e.setup.Secrets()
	old, err := runlog.Decode(secrets.RevealJSON(line))
	if err != nil {
		return nil, fmt.Errorf("read the record of test %s: %w", k.TestID, err)
	}
	if old.Verdict == result.Skip {
		return stillSkipped(old, c.Test), nil
	}
	recorded := &target.Recorded{Of: old, Run: e.regraded.run.ID, Mask: secrets.Bytes}
	c.ID, c.Target, c.User = old.ConversationID, recorded, recorded.User()
	t, err := runner.Run(ctx, c)
	if err != nil {
		return nil, err
	}
	t.Sampling, t.User = old.Sampling, old.User
	if n := len(old.Turns); len(t.Turns) > n { // a turn that was not held then was not held now
		t.Turns, t.Output = t.Turns[:n], t.Output[:len(t.Output)-1]
	}
	for i := range t.Turns { // with what a reply does not carry
		id := t.Turns[i].TurnID
		t.Turns[i] = old.Turns[i]
		t.Turns[i].TurnID = id
	}
	return t, nil
}

// stillSkipped is the record of a test that was skipped when it was to be held.
func stillSkipped(old *result.Test, t *suite.Test) *result.Test {
	kept := *old
	kept.Suite, kept.TestID, kept.Tags, kept.Metadata, kept.Threshold = t.Suite, t.ID, t.Tags, t.Metadata,
		runner.Threshold(t)
	return &kept
}

// apart refuses a folder of results that is the folder of the run that is graded again, or lies in it: that run stays
// as it is.
func (r *regraded) apart(dir string) error {
	at, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	for ; ; at = filepath.Dir(at) {
		if sameFolder(at, r.dir) {
			return source.Invalid("--out %s is the folder of run %s, which stays as it is: choose another folder",
				dir, r.run.ID)
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}
