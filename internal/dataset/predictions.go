package dataset

import (
	"fmt"
	"slices"

	"rehearse/internal/source"
)

// Prediction is what a classifier said of an item.
type Prediction struct {
	ID string
	// Labels are what was predicted. Null is set when nothing was, which is not the same as an empty list of labels.
	Labels []string
	Null   bool
	// Confidence is between 0 and 1, or nil when there is none.
	Confidence *float64
	// Line is where the prediction stands in its file.
	Line int
}

// Correct reports whether the prediction has exactly the item's labels, in any order.
func (p *Prediction) Correct(item *Item) bool {
	if p.Null || len(p.Labels) != len(item.Labels) {
		return false
	}
	for _, label := range p.Labels {
		if !slices.Contains(item.Labels, label) {
			return false
		}
	}
	return true
}

// Predictions is the predictions of a file.
type Predictions struct {
	File string
	All  []Prediction
}

// LoadPredictions reads predictions from a .jsonl, .json or .csv file, each also packed as .gz:
//
//	{"id", "output": null | "label" | {"intent": "label", "confidence": 0.9} | ["label", "other"], "confidence"}
//
// Other entries are what a tool may say besides, and are passed over.
func LoadPredictions(file string) (Predictions, error) {
	predictions := Predictions{File: file}
	c := collector{file: file}
	c.each(func(n source.Node) {
		p := readPrediction(n)
		if n.Kind == source.Map {
			p.ID = c.id(n)
		}
		predictions.All = append(predictions.All, p)
	})
	if err := c.err(); err != nil {
		return Predictions{}, err
	}
	return predictions, nil
}

// For returns the predictions in the order of the items. There must be exactly one for each.
func (ps Predictions) For(set Set) ([]Prediction, error) {
	index := make(map[string]int, len(set.Items))
	for i := range set.Items {
		index[set.Items[i].ID] = i
	}
	joined := make([]Prediction, len(set.Items))
	c := collector{file: ps.File}
	for _, p := range ps.All {
		i, known := index[p.ID]
		switch {
		case !known:
			c.report(ps.File, p.Line, "predict for these items only, or name the file with its item", "there is no item %q in %s", p.ID, set.File)
		case len(p.Labels) > 1 && !set.Several, len(p.Labels) == 0 && !p.Null && !set.Several:
			c.report(ps.File, p.Line, "write the most likely one, or null", "%d labels predicted, where every item has one", len(p.Labels))
		default:
			joined[i] = p
		}
	}
	faulty := len(c.problems) > 0 // then what is missing has most likely been told already
	for i := range set.Items {
		if joined[i].ID == "" && !faulty {
			c.report(set.File, set.Items[i].Line, `where a classifier had no answer, write {"id", "output": null}`,
				"the item %q has no prediction in %s", set.Items[i].ID, ps.File)
		}
	}
	return joined, c.err()
}

func (c *collector) report(file string, line int, hint, format string, args ...any) {
	if len(c.problems) <= maxProblems {
		c.problems = append(c.problems, source.Problem{File: file, Line: line, Column: 1, Message: fmt.Sprintf(format, args...), Hint: hint})
	}
}

func readPrediction(n source.Node) (p Prediction) {
	p.Line = n.Line
	if n.Kind != source.Map {
		n.Report(`write {"id": "item-1", "output": "label"}`, "expected a prediction, got %s", n.Kind)
		return p
	}
	if _, has := n.Get("output"); !has {
		n.Report(`write "output": "label", or null where the classifier had no answer`, "the prediction has no output")
		return p
	}
	output := n.Field("output")
	p.Confidence = readConfidence(n)
	if output.Kind == source.Null {
		p.Null = true
		return p
	}
	if output.Kind == source.Map && output.Has("confidence") {
		p.Confidence = readConfidence(output)
	}
	labels, _, ok := labelled(output)
	p.Null = ok && labels.Kind == source.Null
	if ok && !p.Null {
		p.Labels, _ = readLabels(labels)
	}
	return p
}

// readConfidence reads the entry confidence, if there is one.
func readConfidence(n source.Node) *float64 {
	if !n.Has("confidence") {
		return nil
	}
	confidence := n.Field("confidence").Number(0, 1)
	return &confidence
}
