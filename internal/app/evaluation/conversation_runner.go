package evaluation

import (
	"context"
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/run/artifact"
	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// ConversationRunner holds single conversations of a run that another process leads. It is safe for concurrent use. The
// setup that it was opened with is the caller's to close, after the last conversation.
type ConversationRunner struct {
	e *Evaluation
	// tests are all tests of the run, by keys without a trial.
	tests map[result.Key]*suite.Test
}

// NewConversationRunner opens everything that the conversations of a run need. It reads the suites as the leader does,
// so that both know the same tests.
func NewConversationRunner(ctx context.Context, c Config) (*ConversationRunner, error) {
	tests := map[result.Key]*suite.Test{}
	c.each = func(u orchestrator.Unit) { tests[keyOf(u)] = u.Test }
	e, err := New(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := e.open(); err != nil {
		return nil, err
	}
	if e.spec.Artifacts && e.Artifacts != nil {
		e.artifacts = artifact.New(e.Artifacts, artifact.MaxRun, e.warn)
	}
	e.guard.Log = e.setup.Log
	return &ConversationRunner{e: e, tests: tests}, nil
}

// Close ends what conversations share. It must be called after the last conversation.
func (h *ConversationRunner) Close() { h.e.guard.Close() }

// Run holds the conversation of a job. An error means that it was interrupted, or that the run has no such test.
func (h *ConversationRunner) Run(ctx context.Context, j orchestrator.Job) (record *result.Test, err error) {
	whole := j.Key
	whole.Trial = 0
	test, ok := h.tests[whole]
	if !ok {
		return nil, fmt.Errorf("the run has no test %s of suite %s for target %s", j.Key.TestID, j.Key.Suite,
			j.Key.Target)
	}
	task, began := orchestrator.Task{Test: test, Target: j.Key.Target, Trial: j.Key.Trial}, h.e.setup.Now()
	defer func() {
		if fault := recover(); fault != nil {
			record, err = orchestrator.Broken(task, began, runner.Panicked(h.e.setup.Log, fault).Error()), nil
		}
	}()
	record, err = h.e.hold(h.e.tracing(ctx, j.Run), task)
	if record != nil {
		record.RunID, record.Target = j.Run, j.Key.Target
	}
	return record, err
}
