// Package evaluation holds a run from what is asked to its conclusion: it plans, opens what the tests need, holds the conversations, keeps
// every record, goes on with a run that was broken off, and writes the reports.
package evaluation

import (
	"context"
	"io"
	"path/filepath"

	"rehearse/internal/grader"
	"rehearse/internal/orchestrator"
	"rehearse/internal/result"
	"rehearse/internal/runner"
	"rehearse/internal/runspec"
	"rehearse/internal/setup"
	"rehearse/internal/source"
	"rehearse/internal/store"
	"rehearse/internal/suite"
)

// Config says what is evaluated, and where its results go.
type Config struct {
	Setup *setup.Setup
	Spec  runspec.Spec
	// Suites are suites that were made, held with the configuration of Setup; nil loads those that the spec names, each with the
	// configuration that applies to it.
	Suites []*suite.Suite
	// Out is the folder of the results; empty means one of the run's own below setup.StateDir.
	Out string
	// Formats are the names of the reports to be written (report.Formats).
	Formats []string
	// Resume is true where Out holds a run that goes on. Rerun then says what of it is run again: "failed", "errors", or nothing.
	Resume bool
	Rerun  string
	// Command is what has to be typed for the same run, Version that of the program; both stand in the record of the run.
	Command []string
	Version string
	// Stop ends the run cleanly when it is closed: what is in flight finishes, nothing is begun. It may be nil.
	Stop <-chan struct{}
	// Sink is told how the run goes on; nil tells nobody.
	Sink Sink
}

// Sink is told how a run goes on. Its methods return quickly. Several goroutines call them, each one method at a time.
type Sink interface {
	// Begin is told of the run before its first conversation, and how many tests are left to be held.
	Begin(run result.Run, tests int)
	// Observe is told where the run stands whenever a conversation begins or has ended.
	Observe(p orchestrator.Progress)
	// Keep is told of each record that is in the log.
	Keep(t *result.Test)
	// End is told that the last conversation has ended.
	End()
}

// Evaluation is a planned run. Use it once.
type Evaluation struct {
	Config
	setup  *setup.Setup
	spec   runspec.Spec
	suites []*suite.Suite
	// setups has the setup of each suite, by its name.
	setups map[string]*setup.Setup
	// kinds says what assertions ask for; grading holds the assertion engines, each with its judge.
	kinds    *grader.Set
	grading  map[gradingKey]*grader.Set
	targets  map[callKey]runner.Target
	planned  *plan
	index    *index
	baseline string
}

// New plans a run. It opens no model and asks nothing. Its errors are mistakes of whoever asks, but for files that cannot be read.
func New(ctx context.Context, c Config) (*Evaluation, error) {
	if err := c.Spec.Check(); err != nil {
		return nil, err
	}
	if c.Sink == nil {
		c.Sink = unheard{}
	}
	e := &Evaluation{
		Config: c, spec: c.Spec, suites: c.Suites, setups: map[string]*setup.Setup{}, kinds: grader.New(grader.Config{}),
		grading: map[gradingKey]*grader.Set{}, targets: map[callKey]runner.Target{},
	}
	if e.suites == nil {
		var problems source.Problems
		var err error
		if e.suites, problems, err = Load(e.spec.Suites, c.Setup.LookupEnv); err != nil {
			return nil, err
		}
		if len(problems) > 0 {
			return nil, problems
		}
	}
	if len(e.suites) == 0 {
		return nil, source.Invalid("name at least one suite: a file, a folder or a glob")
	}
	for i, s := range e.suites {
		at, err := c.Setup, error(nil)
		if c.Suites == nil {
			at, err = c.Setup.At(filepath.Dir(s.File))
		}
		if err != nil {
			return nil, err
		}
		e.setups[s.Name] = at
		if i == 0 {
			e.setup = at
		}
	}
	if e.spec.Baseline != "" {
		var err error
		if e.baseline, err = FindRun(ctx, e.setup, e.spec.Baseline); err != nil {
			return nil, err
		}
	}
	var err error
	e.planned, err = e.plan()
	return e, err
}

// Describe writes what would run, test by test.
func (e *Evaluation) Describe(w io.Writer) error { return e.planned.describe(w) }

// Tests returns how many tests the run holds; a test with several targets counts once for each.
func (e *Evaluation) Tests() int { return e.planned.tests }

// unheard is the sink that tells nobody.
type unheard struct{}

func (unheard) Begin(result.Run, int)         {}
func (unheard) Observe(orchestrator.Progress) {}
func (unheard) Keep(*result.Test)             {}
func (unheard) End()                          {}

// FindRun returns the folder of a run that was named by its folder, its id, the beginning of its id, or latest. Names are looked up in the
// configured store.
func FindRun(ctx context.Context, s *setup.Setup, name string) (string, error) {
	if isRun(name) {
		return name, nil
	}
	index, err := s.Store(ctx)
	if err != nil {
		return "", err
	}
	entry, err := index.Run(ctx, name)
	if err != nil {
		return "", source.Invalid("there is no run %q: name its folder, its id, or latest (%w)", name, err)
	}
	return entry.Dir, nil
}

// index enters runs in the store while they go on. Results do not depend on it: without a store the run goes on.
type index struct {
	opened chan struct{}
	store  *store.Store // nil when it could not be opened
	warn   func(text string)
}

// openIndex opens the store beside what else is done.
func (e *Evaluation) openIndex(ctx context.Context) *index {
	i := &index{opened: make(chan struct{}), warn: e.warn}
	go func() {
		defer close(i.opened)
		var err error
		if i.store, err = e.setup.Store(ctx); err != nil {
			i.store = nil
			e.warn(err.Error() + "; going on without the run index and the verdict cache")
		}
	}()
	return i
}

// wait returns the store; nil when it could not be opened.
func (i *index) wait() *store.Store {
	<-i.opened
	return i.store
}

// enter enters a run beside what else is done. The channel is closed when that is done.
func (i *index) enter(ctx context.Context, run result.Run, dir string) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		s := i.wait()
		if s == nil {
			return
		}
		dir, err := filepath.Abs(dir)
		if err == nil {
			err = s.PutRun(context.WithoutCancel(ctx), run, dir)
		}
		if err != nil {
			i.warn(err.Error())
		}
	}()
	return done
}
