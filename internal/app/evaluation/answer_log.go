package evaluation

import (
	"context"
	"maps"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/data/dataset"
	"github.com/rehearse-dev/rehearse/internal/model/langfuse/experiment"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// AnswerLog is a Sink that logs a run of a dataset's tests to Langfuse, each answer when it is graded, and tells
// another sink of everything. What cannot be logged changes nothing. End it with Finish or BreakOff.
type AnswerLog struct {
	Sink
	config  *experiment.Config
	dataset string
	tests   map[string]*dataset.Test
	live    *experiment.Log // nil until the run begins, and where nothing is logged
}

// NewAnswerLog returns a log of the tests of a dataset; a nil config logs nothing. Beside is the other sink.
func NewAnswerLog(c *experiment.Config, name string, tests []*dataset.Test, beside Sink) *AnswerLog {
	l := &AnswerLog{Sink: beside, config: c, dataset: name, tests: map[string]*dataset.Test{}}
	for _, t := range tests {
		l.tests[t.ID] = t
	}
	return l
}

// Begin begins the run of the dataset.
func (l *AnswerLog) Begin(run result.Run, tests int) {
	l.live = experiment.Begin(l.config, &experiment.Run{
		Kind: "e2e", Dataset: l.dataset, Name: run.ID, Description: "rehearse e2e",
		Metadata: map[string]string{"rehearse": run.Version, "judge": run.Judge},
	})
	l.Sink.Begin(run, tests)
}

// Store logs an answer.
func (l *AnswerLog) Store(t *result.Test) {
	if of := l.tests[t.TestID]; of != nil && l.live != nil {
		l.live.Add(loggedAnswer(t, of))
	}
	l.Sink.Store(t)
}

// Finish logs what is left and what the whole came to, but for an interrupted run: BreakOff ends that. The end of ctx
// gives up what is left.
func (l *AnswerLog) Finish(ctx context.Context, h *Completed, a Answers) error {
	if l.live == nil || h.Run.Code() == result.ExitInterrupted {
		return nil
	}
	var items []experiment.Item
	for t, err := range runlog.Read(h.Dir) {
		if err != nil {
			return err
		}
		if of := l.tests[t.TestID]; of != nil {
			items = append(items, loggedAnswer(t, of))
		}
	}
	scores := map[string]float64{"accuracy": a.Share(), "passed": 0}
	if h.Run.Code() == result.ExitPassed {
		scores["passed"] = 1
	}
	maps.Copy(scores, a.Dimensions)
	l.live.Finish(ctx, items, scores)
	return nil
}

// BreakOff logs what waits of a run that did not come to its end. It does nothing after Finish.
func (l *AnswerLog) BreakOff(ctx context.Context) { l.live.BreakOff(ctx) }

// loggedAnswer is the answer of a test, as it is logged.
func loggedAnswer(t *result.Test, of *dataset.Test) experiment.Item {
	one := experiment.Item{
		ID: of.ID, Input: map[string]any{"query": of.Query, "history": of.Rebuilt.Messages},
		Expected: of.Turns[0].Expected, Start: t.StartedAt,
		End: t.StartedAt.Add(time.Duration(t.DurationMS * float64(time.Millisecond))), Scores: map[string]float64{},
	}
	if len(t.Turns) > 0 {
		one.Output = t.Turns[0].Output
	}
	var why []string
	for _, failure := range t.Failures {
		why = append(why, string(failure.Code)+": "+failure.Message)
	}
	one.Comment = strings.Join(why, "; ")
	if t.Verdict == result.Error {
		one.Failure = one.Comment
		return one
	}
	one.Scores["correct"] = 0
	if t.Verdict == result.Pass {
		one.Scores["correct"] = 1
	}
	maps.Insert(one.Scores, dimensionScores(t))
	return one
}
