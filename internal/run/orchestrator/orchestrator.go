// Package orchestrator runs suites: it makes jobs of tests, targets and trials, hands them to workers, runs tests after
// those that they depend on, and writes every record as it comes.
package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// Task is one conversation to hold, in the process that leads the run.
type Task struct {
	Test   *suite.Test
	Target string
	// Trial counts from 1; 0 for a test without trials.
	Trial int
}

// Key returns the key of the task's record.
func (t Task) Key() result.Key {
	return result.Key{Suite: t.Test.Suite, TestID: t.Test.ID, Target: t.Target, Trial: t.Trial}
}

// Results keeps records, those of one call together. A record replaces an earlier one with the same key.
type Results interface {
	Append(records ...*result.Test) error
}

// Plan is what to run.
type Plan struct {
	// Tests yields each test once for each of its targets. The test's Execution is complete: every default is filled
	// in.
	Tests iter.Seq2[Unit, error]
	// Costs yields what one conversation of each of the tests is expected to take, in their order and in any unit: the
	// costliest of those in sight are begun first. It may be nil.
	Costs iter.Seq[float64]
	// Needed says whether other tests wait for this one. It may be nil.
	Needed func(suiteName, id string) bool
	// Prior returns the outcome of a conversation that an interrupted run has finished. It may be nil.
	Prior func(k result.Key) (Outcome, bool)
	// Regraded is true when the conversations were held before and are graded again: every trial counts, also after one
	// that passed, and only judges are paid.
	Regraded bool
	// Budget is what the run may spend, Spent what an interrupted run has spent before.
	Budget, Spent Budget
}

// Budget is what a run may spend before it begins nothing new. What is 0 is not bounded.
type Budget struct {
	USD    float64
	Tokens int
	Time   time.Duration
}

// Bounded reports whether there is a bound.
func (b Budget) Bounded() bool { return b != Budget{} }

// Unit is one test with one target.
type Unit struct {
	Test   *suite.Test
	Target string
	// Number is the place of the unit in its plan, from 0, and Position that of its test, from 1.
	Number, Position int
	// After is the number behind which its trials are numbered. Repeats of a test have it, so that no conversation has
	// the number of an earlier one.
	After int
	// Commands is true when holding it starts programs that a suite or a configuration names.
	Commands bool
}

// Outcome is what dependents and aggregates need of a finished conversation.
type Outcome struct {
	Verdict    result.Verdict
	Status     result.Status
	Score      float64
	Graded     *float64
	Failures   []result.Failure
	StartedAt  time.Time
	Usage      chat.Usage
	Cost       chat.Cost
	DurationMS float64
	Judge      result.JudgeUse
	User       *result.User
}

// OutcomeOf returns the outcome of a record.
func OutcomeOf(t *result.Test) Outcome {
	return Outcome{
		Verdict: t.Verdict, Status: t.ExecutionStatus, Score: t.Score, Graded: t.GradedScore, Failures: t.Failures,
		StartedAt: t.StartedAt, Usage: t.Usage, Cost: t.Cost, DurationMS: t.DurationMS, Judge: t.Judge, User: t.User,
	}
}

// Progress counts the conversations of a run.
type Progress struct {
	Totals   result.Totals
	InFlight int
}

// Config is what an Orchestrator works with. Workers, Queue, Results and one of Hold and Returns are required.
type Config struct {
	// RunID is written into every record, Kind into every job; empty means KindSuite.
	RunID, Kind string
	// Workers is how many conversations are under way at once: in the process, or queued for others and held by them.
	Workers int
	Queue   Queue
	// Run holds one conversation in this process. It returns an error when the conversation was interrupted; then there
	// is no record.
	Run func(ctx context.Context, t Task) (*result.Test, error)
	// Returns bring what workers elsewhere have held; then nothing is held in this process. Payload is what their jobs
	// carry.
	Returns Returns
	Payload []byte
	// Rejudge, if set, grades the transcript of a trial again, for tests whose trials differ. It returns an error when
	// it was interrupted.
	Rejudge func(ctx context.Context, t Task, trial *result.Test) (*result.Test, error)
	Results Results
	// Observe, if set, is called whenever a conversation begins or has ended. It must return quickly. After a panic it
	// is not called again.
	Observe func(Progress)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Log gets the stacks of panics at debug level; nil discards them.
	Log *slog.Logger
}

// Orchestrator runs plans. Use New.
type Orchestrator struct{ config Config }

// New returns an orchestrator. The error names what the configuration lacks.
func New(c Config) (*Orchestrator, error) {
	switch {
	case c.Queue == nil:
		return nil, errors.New("an orchestrator needs a queue")
	case (c.Run == nil) == (c.Returns == nil):
		return nil, errors.New(
			"an orchestrator needs either a function that holds conversations or returns from where they are held")
	case c.Results == nil:
		return nil, errors.New("an orchestrator needs a place for results")
	case c.Workers < 1:
		return nil, fmt.Errorf("an orchestrator needs at least one worker, not %d", c.Workers)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Kind == "" {
		c.Kind = KindSuite
	}
	return &Orchestrator{c}, nil
}

// Withdrawer is a queue that takes back jobs which nobody holds. Returns that are lost say which.
type Withdrawer interface{ Withdraw() }

// ErrBudget says that a run stopped because its budget was spent.
var ErrBudget = errors.New("the budget is spent")

// Run runs a plan and returns its totals, also together with an error. After stop is closed, Run starts nothing new and
// waits for the conversations in flight. It returns ErrStopped if something is left to run. Cancelling ctx interrupts
// those in flight, too.
func (o *Orchestrator) Run(ctx context.Context, p Plan, stop <-chan struct{}) (result.Totals, error) {
	s := &scheduler{
		Config: o.config, plan: p, units: map[result.Key]*unit{}, ended: map[result.Key]Outcome{},
		under: tasks{open: map[result.Key]Task{}}, early: map[result.Key]Return{}, wrote: map[result.Key]bool{},
		rejudged: make(chan *frozen, o.config.Workers),
	}
	done, end := s.returns(ctx)
	err := s.guarded(ctx, done, stop)
	end()
	return s.tally.Totals(), err
}

// unheld is the record of a test without a turn. Verdict and ExecutionStatus are the caller's to set.
func unheld(t Task, at time.Time) *result.Test {
	return &result.Test{
		Schema: result.Schema, Suite: t.Test.Suite, TestID: t.Test.ID, Target: t.Target, Trial: t.Trial,
		StartedAt: at.UTC(), Tags: t.Test.Tags, Metadata: t.Test.Metadata, Threshold: runner.Threshold(t.Test),
		Strict: t.Test.Execution.IsStrict(), Scores: []result.Score{}, Turns: []result.Turn{}, Output: []chat.Message{},
		Failures: []result.Failure{},
	}
}

// Broken is the record of a conversation that could not be held.
func Broken(t Task, at time.Time, why string) *result.Test {
	record := unheld(t, at)
	record.Verdict, record.ExecutionStatus = result.Error, result.ExecutionError
	record.Failures = []result.Failure{{Code: result.EngineError, Source: "orchestrator", Message: why}}
	return record
}
