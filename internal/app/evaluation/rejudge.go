package evaluation

import (
	"context"

	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// freshly distinguishes the graders that judge the transcripts of a test again: their judge remembers nothing.
func freshly(t *suite.Test) gradingKey {
	key := gradingOf(t)
	key.cache = suite.CacheOff
	return key
}

// prepareRejudging makes the graders with which transcripts are judged again.
func (e *Evaluation) prepareRejudging() error {
	trials := false
	for u, err := range e.planned.units() {
		if err != nil {
			return err
		}
		if u.Test.Execution.Trials.Count == 0 {
			continue
		}
		trials = true
		if _, ready := e.grading[freshly(u.Test)]; ready {
			continue
		}
		if err := e.prepareGrading(freshly(u.Test), e.planned.gradings[gradingOf(u.Test)]); err != nil {
			return err
		}
	}
	if !trials {
		e.warn("--attribute-flakes finds nothing: no test has trials; add --trials N")
	}
	return nil
}

// rejudge grades the transcript of a trial again. No target is asked, and no remembered verdict is used.
func (e *Evaluation) rejudge(ctx context.Context, j orchestrator.Task, trial *result.Test) (*result.Test, error) {
	k := j.Key()
	ctx = llm.InConversation(ctx, llm.Conversation{Suite: k.Suite, Test: k.TestID, Target: k.Target, Trial: k.Trial})
	recorded := &target.Recorded{Of: trial, Run: trial.RunID}
	return runner.Run(ctx, runner.Conversation{
		Test: j.Test, Trial: j.Trial, ID: trial.ConversationID, TargetName: j.Target, Regraded: true, Target: recorded,
		User: recorded.User(), Grading: e.grading[freshly(j.Test)], InOrder: e.planned.workers == 1, Now: e.setup.Now,
		Log: e.setup.Log,
	})
}
