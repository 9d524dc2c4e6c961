package classify

import (
	"context"
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/stats"
	"github.com/rehearse-dev/rehearse/internal/data/dataset"
	"github.com/rehearse-dev/rehearse/internal/model/langfuse/experiment"
	"github.com/rehearse-dev/rehearse/internal/report/classification"
)

// Log logs a classification to Langfuse as a run of the items' dataset, each item when it is finished. A nil Log logs
// nothing.
type Log struct {
	to   *experiment.Config
	live *experiment.Log // nil until the run begins
}

// NewLog returns a log to the given place. It is nil when there is no place.
func NewLog(to *experiment.Config) *Log {
	if to == nil {
		return nil
	}
	return &Log{to: to}
}

// begin begins the run of the dataset.
func (l *Log) begin(c *Config, run string) {
	if l == nil {
		return
	}
	l.live = experiment.Begin(l.to, &experiment.Run{
		Kind: "classify", Dataset: c.Dataset, Name: run, Description: "rehearse classify: " + c.Title(),
		Metadata: map[string]string{"classifier": c.Title(), "rehearse": c.Version},
	})
}

// add logs an item.
func (l *Log) add(c *Config, r *classification.Records, i int) {
	if l != nil {
		l.live.Add(logged(&c.Set.Items[i], r, i))
	}
}

// Finish logs the items that wait, and the figures of the run.
func (l *Log) Finish(ctx context.Context, c *Config, o *Outcome) {
	if l == nil {
		return
	}
	items := make([]experiment.Item, 0, len(c.Set.Items))
	for i := range c.Set.Items {
		items = append(items, logged(&c.Set.Items[i], o.Records, i))
	}
	r := o.Report
	scores := map[string]float64{
		"macro_f1": r.MacroF1, "weighted_f1": r.WeightedF1, "accuracy": r.Accuracy, "passed": 0,
	}
	if r.Passed {
		scores["passed"] = 1
	}
	if r.Several {
		scores["recall"] = r.MicroRecall
	}
	l.live.Finish(ctx, items, scores)
}

// BreakOff logs the items that wait. It does nothing after Finish.
func (l *Log) BreakOff(ctx context.Context) {
	if l != nil {
		l.live.BreakOff(ctx)
	}
}

// loggedInput is the input of an item as it is logged.
type loggedInput struct {
	Message string          `json:"message"`
	History []loggedMessage `json:"history,omitempty"`
}

type loggedMessage struct {
	Role    chat.Role `json:"role"`
	Content string    `json:"content"`
}

// logged is an item as it is logged, with its scores: whether it is right, and how sure the classifier was.
func logged(item *dataset.Item, r *classification.Records, i int) experiment.Item {
	p, start, end := r.Prediction(i)
	in := loggedInput{Message: item.Message}
	for _, m := range item.History {
		in.History = append(in.History, loggedMessage{m.Role, m.Content.Text})
	}
	predicted := p.Labels
	if p.Null {
		predicted = []string{stats.NullLabel}
	}
	one := experiment.Item{
		ID: item.ID, Input: in, Output: p.Labels, Expected: item.Labels,
		Scores: map[string]float64{"correct": 0}, Start: start, End: end,
		Comment: fmt.Sprintf("expected %s, predicted %s", listed(item.Labels), listed(predicted)),
	}
	if p.Correct(item.Labels) {
		one.Scores["correct"] = 1
	}
	if p.Confidence != nil {
		one.Scores["confidence"] = *p.Confidence
	}
	return one
}

func listed(labels []string) string {
	if len(labels) == 0 {
		return "nothing"
	}
	return strings.Join(labels, ", ")
}
