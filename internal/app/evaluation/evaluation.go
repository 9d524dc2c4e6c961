// Package evaluation runs suites from a spec to a conclusion: it plans, opens what the tests need, holds the
// conversations, keeps every record, resumes an interrupted run, and writes the reports.
package evaluation

import (
	"context"
	"io"
	"path/filepath"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/grader"
	"github.com/rehearse-dev/rehearse/internal/eval/judge"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/eval/user"
	"github.com/rehearse-dev/rehearse/internal/run/artifact"
	"github.com/rehearse-dev/rehearse/internal/run/compare"
	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
	"github.com/rehearse-dev/rehearse/internal/spec/quarantine"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// Config says what to evaluate and where the results go.
type Config struct {
	Setup *wire.Setup
	Spec  runspec.Spec
	// Suites are suites made by the caller; they use the configuration of Setup. If it is nil, the suites that the spec
	// names are loaded, each with the configuration of its folder.
	Suites []*suite.Suite
	// Made is what decides the answers of targets that the setup makes (wire.Making), as a value that JSON can hold;
	// nil otherwise.
	Made any
	// Out is the folder of the results; empty means a new one below wire.StateDir.
	Out string
	// Formats are the names of the reports to write (report.Formats). Writes are other files that whoever holds the run
	// writes into its folder, with the marks of runlog.Unrelated: the run does not begin where somebody else's file has
	// such a name.
	Formats []string
	Writes  map[string][]string
	// Resume continues the run in Out. Rerun says which of its tests run again: "failed", "errors", or none when empty.
	Resume bool
	Rerun  string
	// Regrade is the folder of a finished run whose conversations are graded again: no target is asked. Empty holds
	// them. It is the baseline where the spec names no other.
	Regrade string
	// Compare says how the run is matched with its baseline. Its Repeats are the evaluation's to set.
	Compare compare.Options
	// BaselineOptional goes on without a baseline that is not there.
	BaselineOptional bool
	// ReportURL is where the folder of the run is published, to which links in its reports lead; empty makes them
	// relative.
	ReportURL string
	// Command is the command line of the run, Version the program's version. Both are written into the run's record.
	Command []string
	Version string
	// Stop, when closed, ends the run cleanly: conversations in flight finish, none is begun. It may be nil.
	Stop <-chan struct{}
	// Sink gets the progress of the run; it may be nil.
	Sink Sink
	// Fleet has the conversations held by workers elsewhere; nil holds them in this process.
	Fleet *Fleet
	// Turned, if set, is called when a turn of a conversation was answered, of so many at most. It must return quickly.
	Turned func(k result.Key, turn, of int)
	// Artifacts takes what is kept of conversations where the spec asks for it; nil means the folder ArtifactDir of the
	// results.
	Artifacts artifact.Keepable
	// Quarantines reads the quarantines that people have set, by suite and test; nil means those of the store of the
	// setup.
	Quarantines func(context.Context) (map[result.Key]quarantine.Terms, error)
	// Verdicts remembers what judges have answered; nil means the store of the setup.
	Verdicts judge.Cache

	// each, if set, gets every unit as it is planned.
	each func(orchestrator.Unit)
}

// Fleet is where a run is held by workers of other processes, and where its records are kept for all.
type Fleet struct {
	// RunID is the run's; it is known before the run begins.
	RunID string
	// Queue takes the jobs, which carry the Payload for a run whose span has a traceparent, and Returns bring what
	// became of them. Window is how many of them are out at once.
	Queue   orchestrator.Queue
	Returns orchestrator.Returns
	Payload func(traceparent string) ([]byte, error)
	Window  int
	// Durations returns how long tests took in earlier runs, by keys without trials, of those that are known; nil knows
	// none.
	Durations func(keys []result.Key) map[result.Key]time.Duration
	// Store keeps records, each with its line as the log has it, before the log does. An error ends the run.
	Store func(records []*result.Test, lines [][]byte) error
}

// Sink gets the progress of a run. Its methods must return quickly. Several goroutines call them, but no method twice
// at a time.
type Sink interface {
	// Begin is called before the first conversation, with the number of tests to be held.
	Begin(run result.Run, tests int)
	// Observe is called whenever a conversation begins or has ended.
	Observe(p orchestrator.Progress)
	// Store is called for each record in the log.
	Store(t *result.Test)
	// End is called after the last conversation.
	End()
}

// Evaluation is a planned run. Use it once.
type Evaluation struct {
	Config
	setup  *wire.Setup
	spec   runspec.Spec
	suites []*suite.Suite
	// setups has the setup of each suite by its name.
	setups map[string]*wire.Setup
	// kinds knows what assertions need; grading has the grader sets, each with its judge.
	kinds   *grader.Set
	grading map[gradingKey]*grader.Set
	// fresh are the grader sets of repeats, which making protects.
	fresh  map[gradingKey]*grader.Set
	making sync.Mutex
	// guard has the goroutines in which conversations run code of targets and graders.
	guard    runner.Guard
	targets  map[callKey]runner.Target
	users    map[userKey]user.Model
	planned  *plan
	asked    *dependencies
	index    *index
	baseline string
	// regraded is the run that is graded again; nil for a run that holds its own conversations.
	regraded *regraded

	// quarantines are those of the store.
	quarantines map[result.Key]quarantine.Terms

	// artifacts keeps what is gathered of conversations; nil where nothing is.
	artifacts *artifact.Writer

	cacheTold sync.Once

	mu     sync.Mutex
	warned []string
}

// New plans a run. It opens no model and asks none. Its errors are mistakes of the caller, or files that cannot be
// read, or a *wire.RefusedError of a submitted run.
func New(ctx context.Context, c Config) (*Evaluation, error) {
	c.Setup.NamesVariables(c.Spec.Env...)
	for _, target := range c.Spec.Targets {
		c.Setup.NamesWritten(target)
	}
	e, err := planned(ctx, c)
	if err == nil && c.Setup.Submitted != nil {
		e.readFlows()
	}
	if refused := c.Setup.Refused(); refused != nil { // which may be why it cannot be planned
		return nil, refused
	}
	return e, err
}

// readFlows reads the flows of the run's targets, which name variables of the environment. What is wrong with one is
// told when it is opened.
func (e *Evaluation) readFlows() {
	for call := range e.planned.calls {
		_, _ = e.setups[call.suite].KnownFlow(call.target)
	}
}

func planned(ctx context.Context, c Config) (made *Evaluation, err error) {
	if err := c.Spec.Check(); err != nil {
		return nil, err
	}
	if c.Sink == nil {
		c.Sink = discardSink{}
	}
	e := &Evaluation{
		Config: c, spec: c.Spec, suites: c.Suites, setups: map[string]*wire.Setup{},
		kinds: grader.New(grader.Config{Files: c.Setup.Files}), grading: map[gradingKey]*grader.Set{},
		fresh: map[gradingKey]*grader.Set{}, targets: map[callKey]runner.Target{}, users: map[userKey]user.Model{},
	}
	if e.suites == nil {
		c.Setup.Graded()
		var problems source.Problems
		if e.suites, problems, err = Load(e.spec.Suites, c.Setup.Suites()); err != nil {
			return nil, err
		}
		if len(problems) > 0 {
			if c.Setup.Refused() != nil { // the configurations may name more of it
				for _, p := range problems {
					_, _ = c.Setup.At(filepath.Dir(p.File))
				}
			}
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
	if c.Regrade != "" {
		if e.regraded, err = openRegraded(c.Regrade); err != nil {
			return nil, err
		}
		defer func() {
			if err != nil {
				_ = e.regraded.records.Close() // nothing was written
			}
		}()
	}
	for _, s := range e.suites {
		for _, w := range s.Warnings {
			e.warn(w.String())
		}
	}
	if err := e.named(); err != nil {
		return nil, err
	}
	if e.planned, err = e.plan(); err != nil {
		return nil, err
	}
	return e, e.findBaseline(ctx)
}

// Describe opens everything that the tests need, as Hold does, and writes the plan, test by test. It asks and writes
// nothing else when Setup is dry.
func (e *Evaluation) Describe(ctx context.Context, w io.Writer) error {
	if err := e.prepare(ctx); err != nil {
		return err
	}
	if err := e.foreign(e.Out); err != nil {
		return err
	}
	return e.planned.describe(w)
}

// Tests returns how many tests the run holds; a test with several targets counts once for each.
func (e *Evaluation) Tests() int { return e.planned.tests }

// Planned says what a run will do.
type Planned struct {
	// Suites are the names of the suites, Targets those of the targets that their tests run with.
	Suites, Targets []string
	// Conversations counts the trials of each test with each target, ByTarget the tests with each target.
	Conversations int
	ByTarget      map[string]int
}

// Planned returns what the run will do, with the names that its records will have: without secrets.
func (e *Evaluation) Planned() Planned {
	p := Planned{Conversations: e.planned.conversations, ByTarget: map[string]int{}}
	secrets := e.setup.Secrets()
	for _, target := range e.planned.targets {
		p.Targets = append(p.Targets, secrets.Text(target))
	}
	for target, n := range e.planned.byTarget {
		p.ByTarget[secrets.Text(target)] += n
	}
	for _, s := range e.suites {
		p.Suites = append(p.Suites, secrets.Text(s.Name))
	}
	return p
}

// Fingerprint returns a hash of everything that decides the records of the run, as it will stand in run.json. It opens
// nothing and asks nobody.
func (e *Evaluation) Fingerprint() (string, error) {
	return (&recorder{prints: newFingerprints(e), open: map[result.Key]begun{}}).fingerprint(e.planned)
}

// discardSink is the sink that does nothing.
type discardSink struct{}

func (discardSink) Begin(result.Run, int)         {}
func (discardSink) Observe(orchestrator.Progress) {}
func (discardSink) Store(*result.Test)            {}
func (discardSink) End()                          {}
