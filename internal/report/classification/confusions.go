package classification

import (
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
	"github.com/rehearse-dev/rehearse/internal/data/dataset"
	"github.com/rehearse-dev/rehearse/internal/spec/label"
)

// Confusion is a pair of labels that were taken for each other, with items to look at.
type Confusion struct {
	stats.Confused
	Examples []Example `json:"examples"`
}

// Example is an item that was confused.
type Example struct {
	ID      string `json:"id"`
	Message string `json:"message"`
}

const (
	maxConfusions = 50 // in JSON
	maxExamples   = 3
)

// examples adds to the worst confusions the first items that show them.
func (r *Report) examples(set dataset.Set, predictions []label.Prediction) {
	r.Confusions = []Confusion{}
	at := map[[2]string]int{}
	for i, c := range r.confused[:min(len(r.confused), maxConfusions)] {
		r.Confusions = append(r.Confusions, Confusion{c, []Example{}})
		at[[2]string{c.Truth, c.Predicted}] = i
	}
	for i := range predictions {
		p, item := &predictions[i], &set.Items[i]
		if p.Correct(item.Labels) {
			continue
		}
		// Pairs of labels that an item has both of are in no confusion of this item.
		for _, truth := range item.Labels {
			for _, predicted := range labelsOf(p) {
				index, worst := at[[2]string{truth, predicted}]
				if !worst || slices.Contains(p.Labels, truth) || slices.Contains(item.Labels, predicted) {
					continue
				}
				if c := &r.Confusions[index]; len(c.Examples) < maxExamples {
					c.Examples = append(c.Examples, Example{item.ID, item.Message})
				}
			}
		}
	}
}

// calibrate compares confidence with truth, where predictions have a confidence.
func (r *Report) calibrate(set dataset.Set, predictions []label.Prediction) {
	var confidence []float64
	var correct []bool
	for i := range predictions {
		if p := &predictions[i]; p.Confidence != nil {
			confidence, correct = append(confidence, *p.Confidence), append(correct, p.Correct(set.Items[i].Labels))
		}
	}
	if len(confidence) > 0 {
		c := stats.Calibrate(confidence, correct)
		r.Calibration = &c
	}
}
