package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"rehearse/internal/grader"
	"rehearse/internal/result"
	"rehearse/internal/runlog"
)

// e2eLog logs the evaluation of a dataset of Langfuse there, as one of its runs, each item when it is answered. What cannot be logged is told
// and changes nothing. A nil log logs nothing.
type e2eLog struct {
	to    *langfuseLog
	items map[string]*e2eItem
	live  *liveLog // nil until the run begins
}

// openLog returns where the evaluation is logged: nil where it is not.
func (f *e2eFlags) openLog(w *wiring, items []*e2eItem) (*e2eLog, error) {
	dataset, remote := strings.CutPrefix(w.suites[0].File, langfuseScheme)
	if !remote || f.trace != "yes" {
		return nil, nil
	}
	to, err := openLangfuseLog(w.env, logAuto, true)
	if err != nil || to == nil {
		return nil, err
	}
	l := &e2eLog{to: to, items: map[string]*e2eItem{}}
	for _, item := range items {
		l.items[item.id] = item
	}
	w.watch = func(run result.Run) func(*result.Test) {
		l.live = to.begin(&loggedRun{
			Kind: "e2e", Dataset: dataset, Name: run.ID, Description: "rehearse e2e", Metadata: map[string]string{"rehearse": version(), "judge": run.Judge},
		})
		return func(t *result.Test) {
			if item := l.items[t.TestID]; item != nil {
				l.live.add(loggedAnswer(t, item))
			}
		}
	}
	return l, nil
}

// finish logs what is left, and what the whole came to.
func (l *e2eLog) finish(ctx context.Context, run *held, s e2eSummary, accuracy float64) error {
	if l == nil || run.interrupted {
		return nil // breakOff does it
	}
	var items []loggedItem
	for t, err := range runlog.Read(run.dir) {
		if err != nil {
			return notRun(err)
		}
		if item := l.items[t.TestID]; item != nil {
			items = append(items, loggedAnswer(t, item))
		}
	}
	scores := map[string]float64{"accuracy": accuracy, "passed": 0}
	if run.run.ExitCode == exitPassed {
		scores["passed"] = 1
	}
	for name, sum := range s.dimensions {
		scores[name] = sum / float64(s.scored)
	}
	l.live.finish(ctx, items, scores)
	return nil
}

// breakOff logs what waits, unless the run was finished.
func (l *e2eLog) breakOff(ctx context.Context) {
	if l != nil {
		l.live.breakOff(ctx)
	}
}

// loggedAnswer is the answer to one item, as it is logged.
func loggedAnswer(t *result.Test, item *e2eItem) loggedItem {
	one := loggedItem{
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
