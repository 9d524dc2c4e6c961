// Package orchestrator runs suites: it makes jobs of tests, targets and trials, hands them to workers, runs tests after those that they
// depend on, and writes every record as it comes.
package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"time"

	"rehearse/internal/chat"
	"rehearse/internal/result"
	"rehearse/internal/runner"
	"rehearse/internal/suite"
)

// Job is one conversation to hold.
type Job struct {
	Test   *suite.Test
	Target string
	// Trial counts from 1; 0 for a test without trials.
	Trial int

	// frozen are the trials to be judged again, in place of a conversation to be held.
	frozen *frozen
}

// Key returns the key of the job's record.
func (j Job) Key() result.Key {
	return result.Key{Suite: j.Test.Suite, TestID: j.Test.ID, Target: j.Target, Trial: j.Trial}
}

// Queue carries jobs to workers. Implementations are safe for concurrent use.
type Queue interface {
	Push(ctx context.Context, j Job) error
	Pull(ctx context.Context) (Job, error)
}

// Results keeps records. A record replaces an earlier one with the same key.
type Results interface {
	Append(t *result.Test) error
}

// Plan is what to run.
type Plan struct {
	// Tests yields each test once for each of its targets. The test's Execution is complete: every default is filled in.
	Tests iter.Seq2[Unit, error]
	// Needed says whether other tests wait for this one. It may be nil.
	Needed func(suiteName, id string) bool
	// Prior returns the outcome of a conversation that an interrupted run has finished. It may be nil.
	Prior func(k result.Key) (Outcome, bool)
	// Regraded is true when the conversations were held before and are graded again: every trial counts, also after one that passed, and only
	// judges are paid.
	Regraded bool
	// BudgetUSD is the cost from which the run starts nothing new; 0 means no budget. SpentUSD is what an interrupted run has spent before.
	BudgetUSD, SpentUSD float64
}

// Unit is one test with one target.
type Unit struct {
	Test   *suite.Test
	Target string
}

// Outcome is what dependents and aggregates need of a finished conversation.
type Outcome struct {
	Verdict    result.Verdict
	Status     result.Status
	Score      float64
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
		Verdict: t.Verdict, Status: t.ExecutionStatus, Score: t.Score, Failures: t.Failures, StartedAt: t.StartedAt,
		Usage: t.Usage, Cost: t.Cost, DurationMS: t.DurationMS, Judge: t.Judge, User: t.User,
	}
}

// Progress counts the conversations of a run.
type Progress struct {
	Totals   result.Totals
	InFlight int
}

// Config is what an Orchestrator works with. Workers, Queue, Hold and Results are required.
type Config struct {
	// RunID is written into every record.
	RunID string
	// Workers is how many conversations are held at once.
	Workers int
	Queue   Queue
	// Hold holds one conversation. It returns an error when the conversation was interrupted; then there is no record.
	Hold func(ctx context.Context, j Job) (*result.Test, error)
	// Rejudge, if set, grades the transcript of a trial again, for tests whose trials differ. It returns an error when it was interrupted.
	Rejudge func(ctx context.Context, j Job, trial *result.Test) (*result.Test, error)
	Results Results
	// Observe, if set, is called whenever a conversation begins or has ended. It must return quickly. After a panic it is not called again.
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
	case c.Hold == nil:
		return nil, errors.New("an orchestrator needs a function that holds conversations")
	case c.Results == nil:
		return nil, errors.New("an orchestrator needs a place for results")
	case c.Workers < 1:
		return nil, fmt.Errorf("an orchestrator needs at least one worker, not %d", c.Workers)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Orchestrator{c}, nil
}

// ErrBudget says that a run stopped because its budget was spent.
var ErrBudget = errors.New("the budget is spent")

// Run runs a plan and returns its totals, also together with an error.
// After stop is closed, Run starts nothing new and waits for the conversations in flight. It returns ErrStopped if something is left to run.
// Cancelling ctx interrupts those in flight, too.
func (o *Orchestrator) Run(ctx context.Context, p Plan, stop <-chan struct{}) (result.Totals, error) {
	// Workers pull until every pushed job is accounted for, even after ctx has ended.
	pulling, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan finished, o.config.Workers)
	var workers sync.WaitGroup
	for range o.config.Workers {
		workers.Go(func() { o.work(ctx, pulling, done) })
	}
	s := &scheduler{Config: o.config, plan: p, units: map[result.Key]*unit{}, ended: map[result.Key]Outcome{}}
	err := s.guarded(ctx, done, stop)
	cancel()
	workers.Wait()
	return s.tally.Totals(), err
}

// finished is a worker's report. record is nil when the conversation was interrupted.
type finished struct {
	job    Job
	record *result.Test
	err    error
}

func (o *Orchestrator) work(ctx, pulling context.Context, done chan<- finished) {
	for {
		j, err := o.config.Queue.Pull(pulling)
		if err != nil {
			return
		}
		f := finished{job: j}
		if j.frozen != nil {
			o.rejudge(ctx, j)
		} else {
			f.record, f.err = o.hold(ctx, j)
		}
		done <- f // never blocks: no more jobs than workers are in flight
	}
}

// hold holds a conversation and turns a panic of a grader or target into the record of a test that could not be run.
func (o *Orchestrator) hold(ctx context.Context, j Job) (record *result.Test, err error) {
	began := o.config.Now()
	defer func() {
		if r := recover(); r != nil {
			record, err = unheld(j, began), nil
			record.Verdict, record.ExecutionStatus = result.Error, result.ExecutionError
			record.Failures = []result.Failure{{
				Code: result.EngineError, Source: "orchestrator", Message: runner.Panicked(o.config.Log, r).Error(),
			}}
		}
	}()
	record, err = o.config.Hold(ctx, j)
	if record != nil {
		record.Target = j.Target
	}
	return record, err
}

// unheld is the record of a test without a turn. Verdict and ExecutionStatus are the caller's to set.
func unheld(j Job, at time.Time) *result.Test {
	return &result.Test{
		Schema: result.Schema, Suite: j.Test.Suite, TestID: j.Test.ID, Target: j.Target, Trial: j.Trial, StartedAt: at.UTC(),
		Tags: j.Test.Tags, Metadata: j.Test.Metadata, Threshold: runner.Threshold(j.Test),
		Scores: []result.Score{}, Turns: []result.Turn{}, Output: []chat.Message{}, Failures: []result.Failure{},
	}
}
