package main

import (
	"cmp"
	"slices"

	"rehearse/internal/dataset"
	"rehearse/internal/stats"
)

// classification is what classify finds out; as JSON it is what --format json prints.
type classification struct {
	N                int                      `json:"n"`
	Correct          int                      `json:"correct"`
	Accuracy         float64                  `json:"accuracy"`
	AccuracyInterval [2]float64               `json:"accuracy_interval"`
	MacroF1          float64                  `json:"macro_f1"`
	MacroF1True      float64                  `json:"macro_f1_true_labels"`
	WeightedF1       float64                  `json:"weighted_f1"`
	MinClassF1       float64                  `json:"min_class_f1"`
	MacroPrecision   float64                  `json:"macro_precision"`
	MacroRecall      float64                  `json:"macro_recall"`
	MicroPrecision   float64                  `json:"micro_precision"`
	MicroRecall      float64                  `json:"micro_recall"`
	Several          bool                     `json:"multi_label"`
	Passed           bool                     `json:"passed"`
	Thresholds       []classifyThreshold      `json:"thresholds"`
	Null             int                      `json:"null_predictions"`
	Unseen           []string                 `json:"unseen_labels"` // predicted, but true of no item
	PerClass         map[string]classifyClass `json:"per_class"`
	Confusions       []classifyConfusion      `json:"worst_confusions"`
	Calibration      *stats.Calibration       `json:"calibration,omitempty"`

	// classes are the labels that are true of an item, the worst first; show is how many of them people want to see, 0 for all.
	classes    []stats.ClassScore
	confused   []stats.Confused
	trueLabels bool // the mean over the true labels decides
	show       int
}

// classifyThreshold is the least that a metric has to reach, and whether it does.
type classifyThreshold struct {
	Metric string  `json:"metric"`
	Value  float64 `json:"value"`
	Least  float64 `json:"threshold"`
	Passed bool    `json:"passed"`
}

type classifyClass struct {
	Precision float64 `json:"precision"`
	Recall    float64 `json:"recall"`
	F1        float64 `json:"f1"`
	Support   int     `json:"support"`
}

func newClassification(set dataset.Set, predictions []dataset.Prediction, f *classifyFlags) *classification {
	r := &classification{Several: set.Several, show: f.classes, trueLabels: f.labels == "true", Unseen: []string{}, PerClass: map[string]classifyClass{}}
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
	r.settle(f, s)
	r.examples(set, predictions)
	r.calibrate(set, predictions)
	return r
}

// labelsOf returns the classes that a prediction counts as.
func labelsOf(p *dataset.Prediction) []string {
	if p.Null {
		return []string{stats.NullLabel}
	}
	return p.Labels
}

func (r *classification) score(s stats.Classification) {
	r.N, r.Correct, r.Accuracy, r.AccuracyInterval = s.N, s.Correct, s.Accuracy, stats.Wilson(s.Correct, s.N)
	r.MacroF1, r.MacroF1True, r.WeightedF1, r.MinClassF1 = s.MacroF1, s.MacroF1True, s.WeightedF1, s.MinClassF1
	r.MacroPrecision, r.MacroRecall, r.MicroPrecision, r.MicroRecall = s.MacroPrecision, s.MacroRecall, s.MicroPrecision, s.MicroRecall
	for _, c := range s.Classes {
		r.PerClass[c.Label] = classifyClass{c.Precision, c.Recall, c.F1, c.Support}
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

// settle decides whether the classifier passes. Macro F1 and the lowest F1 of a class say it of items with one label, recall says it of those
// with lists; a threshold that was given counts in any case.
func (r *classification) settle(f *classifyFlags, s stats.Classification) {
	macro := s.MacroF1
	if r.trueLabels {
		macro = s.MacroF1True
	}
	r.Passed, r.Thresholds = true, []classifyThreshold{}
	for _, t := range []struct {
		metric, flag string
		value, least float64
		applies      bool
	}{
		{"macro_f1", "macro-f1", macro, f.least.macroF1, !r.Several},
		{"min_class_f1", "min-class-f1", s.MinClassF1, f.least.minClassF1, !r.Several},
		{"recall", "recall", s.MicroRecall, f.least.recall, r.Several},
		{"accuracy", "accuracy", s.Accuracy, f.least.accuracy, false},
	} {
		if !t.applies && !slices.Contains(f.said, t.flag) {
			continue
		}
		passed := t.value >= t.least-roundingSlack
		r.Thresholds = append(r.Thresholds, classifyThreshold{t.metric, t.value, t.least, passed})
		r.Passed = r.Passed && passed
	}
}
