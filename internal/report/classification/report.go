// Package classification is the view of a run that classifies: how good the predictions are, as text, Markdown, a page
// and JSON.
package classification

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
	"github.com/rehearse-dev/rehearse/internal/data/dataset"
	"github.com/rehearse-dev/rehearse/internal/spec/label"
)

// Report is how good a classifier is. As JSON it is what classification.json holds; shares and scores are between 0 and
// 1.
type Report struct {
	N                int                `json:"n"`
	Correct          int                `json:"correct"`
	Accuracy         float64            `json:"accuracy"`
	AccuracyInterval [2]float64         `json:"accuracy_interval"`
	MacroF1          float64            `json:"macro_f1"`
	MacroF1True      float64            `json:"macro_f1_true_labels"`
	WeightedF1       float64            `json:"weighted_f1"`
	MinClassF1       float64            `json:"min_class_f1"`
	MacroPrecision   float64            `json:"macro_precision"`
	MacroRecall      float64            `json:"macro_recall"`
	MicroPrecision   float64            `json:"micro_precision"`
	MicroRecall      float64            `json:"micro_recall"`
	Several          bool               `json:"multi_label"`
	Passed           bool               `json:"passed"`
	Thresholds       []Threshold        `json:"thresholds"`
	Null             int                `json:"null_predictions"`
	Unseen           []string           `json:"unseen_labels"` // predicted, but true of no item
	PerClass         map[string]Class   `json:"per_class"`
	Confusions       []Confusion        `json:"worst_confusions"`
	Calibration      *stats.Calibration `json:"calibration,omitempty"`

	// classes are the labels that are true of an item, the worst first; show is how many of them people want to see, 0
	// for all.
	classes    []stats.ClassScore
	confused   []stats.Confused
	trueLabels bool // the mean over the true labels decides
	show       int
}

// Threshold is the least that a metric has to reach, and whether it does.
type Threshold struct {
	Metric string  `json:"metric"`
	Value  float64 `json:"value"`
	Least  float64 `json:"threshold"`
	Passed bool    `json:"passed"`
}

// Class is how well one label was predicted; Support counts the items that have it.
type Class struct {
	Precision float64 `json:"precision"`
	Recall    float64 `json:"recall"`
	F1        float64 `json:"f1"`
	Support   int     `json:"support"`
}

// Options say what decides, and how much of the report people see.
type Options struct {
	Thresholds Thresholds
	// TrueLabels takes the mean F1 over the labels that items have; otherwise it is over those that are predicted, too.
	TrueLabels bool
	// Rows is how many classes and confusions text and Markdown show, the worst first; 0 shows all.
	Rows int
}

// Thresholds are the least that each metric has to reach. Macro F1 and the lowest F1 of a class decide about items with
// one label, recall about items with lists.
type Thresholds struct{ MacroF1, MinClassF1, Recall, Accuracy Least }

// Least is the least of a metric. Always applies it to any items.
type Least struct {
	Value  float64
	Always bool
}

// New compares predictions with the items that they are of, in the same order.
func New(set dataset.Set, predictions []label.Prediction, o Options) *Report {
	r := &Report{
		Several: set.Several, show: o.Rows, trueLabels: o.TrueLabels, Unseen: []string{}, PerClass: map[string]Class{},
	}
	var counts stats.Confusion
	for i := range predictions {
		counts.Add(set.Items[i].Labels, labelsOf(&predictions[i]))
		if predictions[i].Null {
			r.Null++
		}
	}
	r.confused = counts.Confused()
	s := counts.Score()
	r.score(s)
	r.settle(o.Thresholds, s)
	r.examples(set, predictions)
	r.calibrate(set, predictions)
	return r
}

// labelsOf returns the classes that a prediction counts as.
func labelsOf(p *label.Prediction) []string {
	if p.Null {
		return []string{stats.NullLabel}
	}
	return p.Labels
}

func (r *Report) score(s stats.Classification) {
	r.N, r.Correct, r.Accuracy, r.AccuracyInterval = s.N, s.Correct, s.Accuracy, stats.Wilson(s.Correct, s.N)
	r.MacroF1, r.MacroF1True, r.WeightedF1, r.MinClassF1 = s.MacroF1, s.MacroF1True, s.WeightedF1, s.MinClassF1
	r.MacroPrecision, r.MacroRecall, r.MicroPrecision, r.MicroRecall = s.MacroPrecision, s.MacroRecall,
		s.MicroPrecision, s.MicroRecall
	for _, c := range s.Classes {
		r.PerClass[c.Label] = Class{c.Precision, c.Recall, c.F1, c.Support}
		switch {
		case c.Support > 0:
			r.classes = append(r.classes, c)
		case c.Label != stats.NullLabel:
			r.Unseen = append(r.Unseen, c.Label)
		}
	}
	slices.SortStableFunc(r.classes, func(a, b stats.ClassScore) int {
		return cmp.Or(cmp.Compare(a.F1, b.F1), cmp.Compare(b.Support, a.Support))
	})
}

// roundingSlack is what a mean of many quotients may lose to rounding: a value that equals its threshold reaches it.
const roundingSlack = 1e-12

// settle decides whether the classifier passes.
func (r *Report) settle(least Thresholds, s stats.Classification) {
	macro := s.MacroF1
	if r.trueLabels {
		macro = s.MacroF1True
	}
	r.Passed, r.Thresholds = true, []Threshold{}
	for _, t := range []struct {
		metric  string
		value   float64
		least   Least
		applies bool
	}{
		{"macro_f1", macro, least.MacroF1, !r.Several},
		{"min_class_f1", s.MinClassF1, least.MinClassF1, !r.Several},
		{"recall", s.MicroRecall, least.Recall, r.Several},
		{"accuracy", s.Accuracy, least.Accuracy, false},
	} {
		if !t.applies && !t.least.Always {
			continue
		}
		passed := t.value >= t.least.Value-roundingSlack
		r.Thresholds = append(r.Thresholds, Threshold{t.metric, t.value, t.least.Value, passed})
		r.Passed = r.Passed && passed
	}
}

// Sentence says which thresholds were missed, and by what; nothing when none was.
func (r *Report) Sentence() string {
	var missed []string
	for _, t := range r.Thresholds {
		if !t.Passed {
			missed = append(missed, fmt.Sprintf("%s is %.3f, needs %.3f", strings.ReplaceAll(t.Metric, "_", " "),
				t.Value, t.Least))
		}
	}
	return strings.Join(missed, "; ")
}
