package main

import (
	"fmt"
	"strings"

	"rehearse/internal/chat"
	"rehearse/internal/dataset"
	"rehearse/internal/evaluation"
	"rehearse/internal/langfuse/experiment"
	"rehearse/internal/report/classification"
	"rehearse/internal/stats"
)

// loggedInput is the input of an item as it is logged.
type loggedInput struct {
	Message string          `json:"message"`
	History []loggedMessage `json:"history,omitempty"`
}

type loggedMessage struct {
	Role    chat.Role `json:"role"`
	Content string    `json:"content"`
}

// loggedRun is the run of their dataset as which the items are classified.
func (c *classified) loggedRun(env *Env) *experiment.Run {
	return &experiment.Run{
		Kind: "classify", Dataset: c.dataset, Name: evaluation.RunID(env.Now()), Description: "rehearse classify: " + c.target,
		Metadata: map[string]string{"classifier": c.target, "rehearse": version()},
	}
}

// logged is an item as it is logged: whether it is right and how sure the classifier was (S3.41).
func (c *classified) logged(env *Env, i int) experiment.Item {
	item, p := &c.set.Items[i], &c.predictions[i]
	one := experiment.Item{
		ID: item.ID, Input: inputOf(item), Output: p.Labels, Expected: item.Labels, Scores: map[string]float64{"correct": 0},
		Comment: fmt.Sprintf("expected %s, predicted %s", labelList(item.Labels), labelList(labelsOf(p))),
	}
	if c.times != nil {
		one.Start, one.End = c.times[i].start, c.times[i].end
	} else {
		one.Start = env.Now()
		one.End = one.Start
	}
	if p.Correct(item) {
		one.Scores["correct"] = 1
	}
	if p.Confidence != nil {
		one.Scores["confidence"] = *p.Confidence
	}
	return one
}

// allLogged are the items as they are logged.
func (c *classified) allLogged(env *Env) []experiment.Item {
	all := make([]experiment.Item, 0, len(c.set.Items))
	for i := range c.set.Items {
		all = append(all, c.logged(env, i))
	}
	return all
}

// runScores are the scores of the whole: what decides (S3.41).
func runScores(r *classification.Report) map[string]float64 {
	scores := map[string]float64{"macro_f1": r.MacroF1, "weighted_f1": r.WeightedF1, "accuracy": r.Accuracy, "passed": 0}
	if r.Passed {
		scores["passed"] = 1
	}
	if r.Several {
		scores["recall"] = r.MicroRecall
	}
	return scores
}

func inputOf(item *dataset.Item) loggedInput {
	in := loggedInput{Message: item.Message}
	for _, m := range item.History {
		in.History = append(in.History, loggedMessage{m.Role, m.Content.Text})
	}
	return in
}

func labelList(labels []string) string {
	if len(labels) == 0 {
		return "nothing"
	}
	return strings.Join(labels, ", ")
}

// labelsOf returns the classes that a prediction counts as.
func labelsOf(p *dataset.Prediction) []string {
	if p.Null {
		return []string{stats.NullLabel}
	}
	return p.Labels
}
