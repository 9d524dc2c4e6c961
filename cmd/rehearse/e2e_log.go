package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"rehearse/internal/dataset"
	"rehearse/internal/evaluation"
	"rehearse/internal/grader"
	"rehearse/internal/langfuse/experiment"
	"rehearse/internal/result"
	"rehearse/internal/runlog"
)

// e2eLog logs the evaluation of a dataset of Langfuse there, as one of its runs, each item when it is answered. What cannot be logged is told
// and changes nothing. A nil log logs nothing.
type e2eLog struct {
	env     *Env
	to      *experiment.Config
	dataset string
	items   map[string]*e2eItem
	live    *experiment.Log // nil until the run begins
}

// openLog returns where the evaluation is logged: nil where it is not.
func (f *e2eFlags) openLog(env *Env, from dataset.Name, items []*e2eItem) (*e2eLog, error) {
	if from.Kind != dataset.InLangfuse || f.trace != "yes" {
		return nil, nil
	}
	to, err := openLangfuseLog(env, logAuto, true)
	if err != nil || to == nil {
		return nil, err
	}
	l := &e2eLog{env: env, to: to, dataset: from.Dataset, items: map[string]*e2eItem{}}
	for _, item := range items {
		l.items[item.id] = item
	}
	return l, nil
}

// sink has the run's records logged besides what a sink does; a nil log leaves the sink alone.
func (l *e2eLog) sink(beside evaluation.Sink) evaluation.Sink {
	if l == nil {
		return beside
	}
	return &loggedSink{beside, l}
}

// loggedSink logs each record.
type loggedSink struct {
	evaluation.Sink
	log *e2eLog
}

// Begin begins the run of the dataset.
func (s *loggedSink) Begin(run result.Run, tests int) {
	s.log.live = experiment.Begin(s.log.to, &experiment.Run{
		Kind: "e2e", Dataset: s.log.dataset, Name: run.ID, Description: "rehearse e2e", Metadata: map[string]string{"rehearse": version(), "judge": run.Judge},
	})
	s.Sink.Begin(run, tests)
}

// Keep logs the answer to an item.
func (s *loggedSink) Keep(t *result.Test) {
	if item := s.log.items[t.TestID]; item != nil {
		s.log.live.Add(loggedAnswer(t, item))
	}
	s.Sink.Keep(t)
}

// finish logs what is left, and what the whole came to.
func (l *e2eLog) finish(ctx context.Context, run *evaluation.Held, s e2eSummary, accuracy float64) error {
	if l == nil || run.Run.ExitCode == result.ExitInterrupted {
		return nil // breakOff does it
	}
	var items []experiment.Item
	for t, err := range runlog.Read(run.Dir) {
		if err != nil {
			return outcome(err)
		}
		if item := l.items[t.TestID]; item != nil {
			items = append(items, loggedAnswer(t, item))
		}
	}
	scores := map[string]float64{"accuracy": accuracy, "passed": 0}
	if run.Run.ExitCode == result.ExitPassed {
		scores["passed"] = 1
	}
	for name, sum := range s.dimensions {
		scores[name] = sum / float64(s.scored)
	}
	interruptibly(ctx, l.env, func(ctx context.Context) { l.live.Finish(ctx, items, scores) })
	return nil
}

// breakOff logs what waits, unless the run was finished.
func (l *e2eLog) breakOff(ctx context.Context) {
	if l != nil {
		interruptibly(ctx, l.env, l.live.BreakOff)
	}
}

// loggedAnswer is the answer to one item, as it is logged.
func loggedAnswer(t *result.Test, item *e2eItem) experiment.Item {
	one := experiment.Item{
		ID: item.id, Input: map[string]any{"query": item.query, "history": item.rebuilt.Messages}, Expected: item.test.Turns[0].Expected,
		Start: t.StartedAt, End: t.StartedAt.Add(time.Duration(t.DurationMS * float64(time.Millisecond))), Scores: map[string]float64{},
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
	for _, score := range t.Scores {
		for _, a := range score.Assertions {
			if a.Score != nil && slices.Contains(grader.Dimensions(), a.Text) {
				one.Scores[a.Text] = *a.Score
			}
		}
	}
	return one
}
