package evaluation

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// plan is what a run will do. It is made by reading every test once.
type plan struct {
	e *Evaluation
	// selected is nil when every test runs; else it has the selected tests and their dependencies.
	selected map[testKey]bool
	// needed are the tests that others depend on.
	needed map[testKey]bool
	// conversations counts tests × targets × trials, turns the turns in them; of a simulated user those that it may say
	// at most.
	tests, conversations, turns int
	targets                     []string
	// byTarget counts the tests with each target.
	byTarget map[string]int
	// ungraded are the tests that grade nothing.
	ungraded suite.Ungraded
	// judged counts the tests that need a judge; gradings says for each grader set whether it needs one.
	judged int
	// sharing is true if trials of a test share remembered verdicts.
	sharing bool
	// embedded are the names of the suites with tests that need an embedding model.
	embedded map[string]bool
	gradings map[gradingKey]bool
	// users are the models that play simulated users.
	users map[userKey]bool
	// calls are the targets with their call settings.
	calls map[callKey]suite.Execution
	// takes has what each unit takes (needs.turns); keys are those of the units where their durations are looked up.
	takes []int32
	keys  []result.Key
	// workers and the costs of budget are the largest values of any suite, unless the spec says others.
	workers int
	budget  orchestrator.Budget
}

type testKey struct{ suite, id string }

// callKey is a target with the call settings of a suite's tests.
type callKey struct {
	suite, target string
	call          wire.Call
}

// gradingKey distinguishes grader sets whose judges are asked differently: those of different suites, and of tests with
// other retries, time limits or cache settings.
type gradingKey struct {
	suite string
	call  wire.Call
	cache suite.Cache
}

func gradingOf(t *suite.Test) gradingKey {
	return gradingKey{t.Suite, wire.CallOf(t.Execution), cmp.Or(t.Execution.Cache, suite.CacheOn)}
}

const defaultWorkers = 8

// plan reads every test and returns what will run.
func (e *Evaluation) plan() (*plan, error) {
	p := &plan{
		e: e, needed: map[testKey]bool{}, byTarget: map[string]int{}, gradings: map[gradingKey]bool{},
		embedded: map[string]bool{}, calls: map[callKey]suite.Execution{}, users: map[userKey]bool{},
	}
	for _, s := range e.suites {
		for id := range s.Needed {
			p.needed[testKey{s.Name, id}] = true
		}
		execution := e.execution(s, s.Execution)
		p.workers = max(p.workers, execution.Workers)
		p.budget.USD = max(p.budget.USD, execution.BudgetUSD)
	}
	p.workers = cmp.Or(e.spec.Limits.Workers, p.workers, e.setup.Config().Workers, defaultWorkers)
	if err := p.choose(); err != nil {
		return nil, err
	}
	if err := p.read(); err != nil {
		return nil, err
	}
	p.bound(e.spec.Budget)
	if warning := p.ungraded.String(); warning != "" {
		e.warn(warning)
	}
	if p.tests == 0 && e.regraded != nil {
		return nil, source.Invalid(
			"run %s has no record of a test that was selected: check the suites, --filter and --tag", e.regraded.run.ID)
	}
	if p.tests == 0 {
		return nil, source.Invalid("no test was selected: check --filter, --tag and --sample")
	}
	return p, nil
}

// read checks every test in view of the targets that the spec, the suites and the configurations settle, and counts
// those that were selected. Tests that are graded again need no target.
func (p *plan) read() error {
	if p.e.regraded != nil {
		for u, err := range p.units() {
			if err == nil {
				err = p.count(u)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	var problems source.Problems
	var uncounted error
	for _, s := range p.e.suites {
		settle := func(t *suite.Test) ([]string, error) {
			t.Execution = p.e.execution(s, t.Execution)
			return p.e.targetNames(s, t)
		}
		found, lost, err := p.e.checkSuite(s, settle, func(t *suite.Test, targets []string, err error) {
			if uncounted != nil || p.selected != nil && !p.selected[testKey{s.Name, t.ID}] {
				return
			}
			uncounted = err
			for _, target := range targets {
				uncounted = cmp.Or(uncounted, p.count(orchestrator.Unit{Test: t, Target: target}))
			}
		})
		if err != nil {
			return err
		}
		problems = append(problems, found...)
		for _, sentence := range lost {
			p.e.warn(sentence)
		}
	}
	return cmp.Or(problems.Err(), uncounted)
}

func (p *plan) count(u orchestrator.Unit) error {
	if t := u.Test.Execution.Trials; t.Strategy == suite.ConfidenceInterval && t.Count == 1 {
		return source.Invalid("test %s: one trial has no confidence interval: use --trials 2 or more", u.Test.ID)
	}
	if u.Test.Execution.Trials.Count > 1 {
		// A repeat of the same answer is not another trial of the agent, and would count as one.
		if t, err := p.e.setups[u.Test.Suite].TargetNamed(u.Target); err == nil && t.Kind == "recorded" {
			return source.Invalid("test %s: %s has one answer for each test, and no other trial: use --trials 1",
				u.Test.ID, u.Target)
		}
	}
	if !slices.Contains(p.targets, u.Target) {
		p.targets = append(p.targets, u.Target)
	}
	trials := max(1, u.Test.Execution.Trials.Count)
	p.tests++
	p.byTarget[u.Target]++
	p.conversations += trials
	p.turns += trials * u.Test.MostTurns()
	if u.Test.User != nil {
		p.users[userOf(u.Test)] = true
	}
	p.budget.USD = max(p.budget.USD, u.Test.Execution.BudgetUSD)
	p.ungraded.Add(u.Test)
	if p.e.each != nil {
		p.e.each(u)
	}
	needs := p.e.needsOf(u.Test)
	p.takes = append(p.takes, needs.turns)
	if p.e.looksUpDurations() {
		p.keys = append(p.keys, keyOf(u))
	}
	if needs.judge {
		p.judged++
		p.sharing = p.sharing || trials > 1 && u.Test.Execution.Cache == suite.CacheShared
	}
	if needs.embedder {
		p.embedded[u.Test.Suite] = true
	}
	key := gradingOf(u.Test)
	p.gradings[key] = p.gradings[key] || needs.judge
	p.calls[callKey{u.Test.Suite, u.Target, wire.CallOf(u.Test.Execution)}] = u.Test.Execution
	return nil
}

// bound sets what the spec says of the budget.
func (p *plan) bound(b *runspec.Budget) {
	if b == nil {
		return
	}
	if b.CostUSD != nil {
		p.budget.USD = *b.CostUSD
	}
	if b.Tokens != nil {
		p.budget.Tokens = *b.Tokens
	}
	if b.Duration != nil {
		p.budget.Time = time.Duration(*b.Duration)
	}
}

// units yields the selected tests, each once for every target, with complete execution settings.
func (p *plan) units() iter.Seq2[orchestrator.Unit, error] {
	return func(yield func(orchestrator.Unit, error) bool) {
		number, position := 0, 0
		for _, s := range p.e.suites {
			for t, err := range s.Tests() {
				if err != nil {
					yield(orchestrator.Unit{}, source.AsInvalid(err))
					return
				}
				if p.selected != nil && !p.selected[testKey{s.Name, t.ID}] {
					continue
				}
				t.Execution = p.e.execution(s, t.Execution)
				units, err := p.e.unitsOf(s, t)
				if err != nil {
					yield(orchestrator.Unit{}, err)
					return
				}
				if len(units) > 0 {
					position++
				}
				for _, u := range units {
					u.Number, u.Position = number, position
					if !yield(u, nil) {
						return
					}
					number++
				}
			}
		}
	}
}

// unitsOf returns a test once for each of its targets.
func (e *Evaluation) unitsOf(s *suite.Suite, t *suite.Test) (units []orchestrator.Unit, err error) {
	if e.regraded != nil {
		return e.regradedUnits(t), nil
	}
	targets, err := e.targetNames(s, t)
	for _, target := range targets {
		units = append(units, orchestrator.Unit{Test: t, Target: target})
	}
	return units, err
}

func (p *plan) isNeeded(suiteName, id string) bool { return p.needed[testKey{suiteName, id}] }

// describe writes the plan, test by test.
func (p *plan) describe(w io.Writer) error {
	atMost := ""
	if len(p.users) > 0 {
		atMost = "at most "
	}
	fmt.Fprintf(w, "would run %s as %s with %s%s, %d at a time:\n",
		text.Plural(p.tests, "test"), text.Plural(p.conversations, "conversation"), atMost,
		text.Plural(p.turns, "turn"), p.workers)
	for u, err := range p.units() {
		if err != nil {
			return err
		}
		trials := ""
		if n := u.Test.Execution.Trials.Count; n > 0 {
			trials = fmt.Sprintf(" × %d trials", n)
		}
		atMost := ""
		if u.Test.User != nil {
			atMost = "at most "
		}
		fmt.Fprintf(w, "  %s / %s → %s: %s%s%s\n", u.Test.Suite, u.Test.ID, u.Target, atMost,
			text.Plural(u.Test.MostTurns(), "turn"), trials)
	}
	_, err := fmt.Fprintf(w, "%s need a judge (%s)\n", text.Plural(p.judged, "test"), p.e.judgeName())
	return err
}

// execution returns the execution settings of a test. The spec's settings take precedence over the test's.
func (e *Evaluation) execution(s *suite.Suite, of suite.Execution) suite.Execution {
	for i, name := range of.Targets {
		if local := e.local(s, name); local != name {
			of.Targets = slices.Clone(of.Targets)
			of.Targets[i] = local
		}
	}
	return e.spec.Over(of)
}

// local resolves the file that a suite names against the suite's folder. The name of a target that is made stands for
// no file.
func (e *Evaluation) local(s *suite.Suite, name string) string {
	at := e.setups[s.Name]
	if _, configured := at.Config().Models[name]; configured || at.Makes(name) {
		return name
	}
	return target.Kinds().LocalName(name, s.File)
}

// targetNames returns the targets that a test runs with.
func (e *Evaluation) targetNames(s *suite.Suite, t *suite.Test) ([]string, error) {
	c := e.setups[s.Name].Config()
	switch {
	case len(t.Execution.Targets) > 0:
		return t.Execution.Targets, nil
	case c.Target != "":
		return []string{c.Target}, nil
	case len(c.Targets) == 1:
		return wire.Names(c.Targets), nil
	}
	hint := "add --target PROVIDER:MODEL, or `target:` to the suite or to " + config.Name
	if len(c.Targets) > 1 {
		hint = "choose one of the configured targets with --target: " + strings.Join(wire.Names(c.Targets), ", ")
	}
	return nil, source.Invalid("test %s does not say what to talk to: %s", t.ID, hint)
}
