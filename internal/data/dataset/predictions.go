package dataset

import (
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/spec/label"
)

// Predictions is the predictions of a file.
type Predictions struct {
	File string
	All  []label.Prediction
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
		p := label.ReadPrediction(n)
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
func (ps Predictions) For(set Set) ([]label.Prediction, error) {
	index := make(map[string]int, len(set.Items))
	for i := range set.Items {
		index[set.Items[i].ID] = i
	}
	joined := make([]label.Prediction, len(set.Items))
	c := collector{file: ps.File}
	for _, p := range ps.All {
		i, known := index[p.ID]
		switch {
		case !known:
			c.report(ps.File, p.Line, "predict for these items only, or name the file with its item",
				"there is no item %q in %s", p.ID, set.File)
		case len(p.Labels) > 1 && !set.Several, len(p.Labels) == 0 && !p.Null && !set.Several:
			c.report(ps.File, p.Line, "write the most likely one, or null",
				"%d labels predicted, where every item has one", len(p.Labels))
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
		c.problems = append(c.problems, source.Problem{
			File: file, Line: line, Column: 1, Message: fmt.Sprintf(format, args...), Hint: hint,
		})
	}
}
