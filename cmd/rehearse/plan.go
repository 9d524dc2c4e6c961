package main

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"io"
	"iter"
	"slices"

	"rehearse/internal/orchestrator"
	"rehearse/internal/suite"
)

// plan is what a run will do, found by reading every test once.
type plan struct {
	w *wiring
	// selected is nil when every test runs; else it holds what was selected and what that depends on.
	selected map[testKey]bool
	needed   map[testKey]bool
	// conversations counts tests × targets × trials, turns the turns in them.
	tests, conversations, turns int
	targets                     []string
	// judged counts the tests that need a judge, gradings says which assertion engines do.
	judged   int
	gradings map[gradingKey]bool
	// calls are the targets in the ways in which they are called.
	calls map[targetKey]suite.Execution
	// cost settings of the whole run: the largest that any suite asks for
	workers int
	budget  float64
}

type testKey struct{ suite, id string }

// plan reads every test and says what will run.
func (w *wiring) plan() (*plan, error) {
	p := &plan{w: w, needed: map[testKey]bool{}, gradings: map[gradingKey]bool{}, calls: map[targetKey]suite.Execution{}}
	for _, s := range w.suites {
		for id := range s.Needed {
			p.needed[testKey{s.Name, id}] = true
		}
		e := w.settle(s, s.Execution)
		p.workers = max(p.workers, e.Workers)
		p.budget = max(p.budget, e.BudgetUSD)
	}
	p.workers = cmp.Or(w.flags.workers, p.workers, w.config.Workers, defaultWorkers)
	if err := p.choose(); err != nil {
		return nil, err
	}
	for u, err := range p.units() {
		if err != nil {
			return nil, err
		}
		p.count(u)
	}
	if p.tests == 0 {
		return nil, usage("no test was selected: check --filter, --tag and --sample")
	}
	return p, nil
}

func (p *plan) count(u orchestrator.Unit) {
	if !slices.Contains(p.targets, u.Target) {
		p.targets = append(p.targets, u.Target)
	}
	trials := max(1, u.Test.Execution.Trials.Count)
	p.tests++
	p.conversations += trials
	p.turns += trials * len(u.Test.Turns)
	asks := p.w.asksJudge(u.Test)
	if asks {
		p.judged++
	}
	key := gradingOf(u.Test)
	p.gradings[key] = p.gradings[key] || asks
	p.calls[callOf(u.Target, u.Test.Execution)] = u.Test.Execution
}

// choose applies --filter, --tag and --sample, and adds what the chosen tests depend on.
func (p *plan) choose() error {
	f := p.w.flags
	if len(f.filters)+len(f.tags)+f.sample == 0 {
		return nil
	}
	type candidate struct {
		key  testKey
		rank uint64
	}
	var chosen []candidate
	needs := map[testKey][]string{}
	for _, s := range p.w.suites {
		for t, err := range s.Tests() {
			if err != nil {
				return usage("%w", err)
			}
			key := testKey{s.Name, t.ID}
			if len(t.DependsOn) > 0 {
				needs[key] = t.DependsOn
			}
			if f.matches(t) {
				chosen = append(chosen, candidate{key, rank(key)})
			}
			if f.sample > 0 && len(chosen) > 2*f.sample+1000 { // keep only what can still be drawn
				slices.SortFunc(chosen, func(a, b candidate) int { return cmp.Compare(a.rank, b.rank) })
				chosen = chosen[:f.sample]
			}
		}
	}
	if f.sample > 0 && len(chosen) > f.sample {
		slices.SortFunc(chosen, func(a, b candidate) int { return cmp.Compare(a.rank, b.rank) })
		chosen = chosen[:f.sample]
	}
	p.selected = map[testKey]bool{}
	var add func(testKey)
	add = func(key testKey) {
		if p.selected[key] {
			return
		}
		p.selected[key] = true
		for _, id := range needs[key] {
			add(testKey{key.suite, id})
		}
	}
	for _, c := range chosen {
		add(c.key)
	}
	return nil
}

// rank orders tests for sampling by their names alone, so that a sample is the same on every machine.
func rank(k testKey) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, k.suite+"\x00"+k.id) // a hash never fails
	return h.Sum64()
}

// units yields the selected tests, each once for every target, with their execution settled.
func (p *plan) units() iter.Seq2[orchestrator.Unit, error] {
	return func(yield func(orchestrator.Unit, error) bool) {
		for _, s := range p.w.suites {
			for t, err := range s.Tests() {
				if err != nil {
					yield(orchestrator.Unit{}, usage("%w", err))
					return
				}
				if p.selected != nil && !p.selected[testKey{s.Name, t.ID}] {
					continue
				}
				t.Execution = p.w.settle(s, t.Execution)
				targets, err := p.w.targetNames(t)
				if err != nil {
					yield(orchestrator.Unit{}, err)
					return
				}
				for _, target := range targets {
					if !yield(orchestrator.Unit{Test: t, Target: target}, nil) {
						return
					}
				}
			}
		}
	}
}

func (p *plan) isNeeded(suiteName, id string) bool { return p.needed[testKey{suiteName, id}] }

// describe prints the plan for --dry-run.
func (p *plan) describe(w io.Writer) error {
	fmt.Fprintf(w, "would run %s as %s with %s, %d at a time:\n",
		plural(p.tests, "test"), plural(p.conversations, "conversation"), plural(p.turns, "turn"), p.workers)
	for u, err := range p.units() {
		if err != nil {
			return err
		}
		trials := ""
		if n := u.Test.Execution.Trials.Count; n > 0 {
			trials = fmt.Sprintf(" × %d trials", n)
		}
		fmt.Fprintf(w, "  %s / %s → %s: %s%s\n", u.Test.Suite, u.Test.ID, u.Target, plural(len(u.Test.Turns), "turn"), trials)
	}
	_, err := fmt.Fprintf(w, "%s need a judge (%s)\n", plural(p.judged, "test"), p.w.judgeName())
	return err
}

const defaultWorkers = 8

// asksJudge reports whether grading the test asks a model.
func (w *wiring) asksJudge(t *suite.Test) bool {
	ask := func(assertions []suite.Assertion) bool {
		return slices.ContainsFunc(assertions, func(a suite.Assertion) bool {
			c, err := w.kinds.Check(a)
			return err == nil && c.Judged
		})
	}
	any := len(t.Assertions) > 0
	for _, turn := range t.Turns {
		any = any || len(turn.Assertions) > 0
		if ask(turn.Assertions) || turn.Expected != "" && (t.Conversation || len(turn.Assertions) == 0) {
			return true
		}
	}
	return ask(t.Assertions) || !any && t.Criteria != ""
}
