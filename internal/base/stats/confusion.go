package stats

import (
	"cmp"
	"maps"
	"slices"
)

// NullLabel is the class of items for which nothing was predicted. It is a class like any other: it lowers the recall
// of the true label and, over the union of labels, counts in macro means.
const NullLabel = "__null__"

// Confusion counts predictions against the truth. The zero value is empty and ready; it is not safe for concurrent use.
type Confusion struct {
	items, correct int
	labels         map[string]*labelCount
	pairs          map[labelPair]int
}

// labelCount counts for one label how often it was true, how often it was predicted, and how often both.
type labelCount struct{ support, predicted, correct int }

type labelPair struct{ truth, predicted string }

// Add counts an item with its true and its predicted labels; their order and repeats do not matter. With one label on
// each side, this is the usual confusion matrix. With several, an item is correct when the sets are equal. Each missed
// label counts as confused with each wrongly predicted label, or with NullLabel when there is none.
func (c *Confusion) Add(truth, predicted []string) {
	if c.labels == nil {
		c.labels, c.pairs = map[string]*labelCount{}, map[labelPair]int{}
	}
	c.items++
	equal := true
	for i, label := range truth {
		if slices.Contains(truth[:i], label) {
			continue
		}
		of := c.label(label)
		of.support++
		if slices.Contains(predicted, label) {
			of.correct++
			continue
		}
		equal = false
		c.miss(label, truth, predicted)
	}
	for i, label := range predicted {
		if !slices.Contains(predicted[:i], label) {
			c.label(label).predicted++
			equal = equal && slices.Contains(truth, label)
		}
	}
	if equal {
		c.correct++
	}
}

func (c *Confusion) label(name string) *labelCount {
	of := c.labels[name]
	if of == nil {
		of = &labelCount{}
		c.labels[name] = of
	}
	return of
}

// miss counts the predictions made in place of a true label.
func (c *Confusion) miss(label string, truth, predicted []string) {
	instead := false
	for i, other := range predicted {
		if !slices.Contains(truth, other) && !slices.Contains(predicted[:i], other) {
			c.pairs[labelPair{label, other}]++
			instead = true
		}
	}
	if !instead {
		c.pairs[labelPair{label, NullLabel}]++
	}
}

// Confused is a pair of labels, and how often the one was true and the other was predicted.
type Confused struct {
	Truth     string `json:"truth"`
	Predicted string `json:"predicted"`
	Count     int    `json:"count"`
}

// Confused returns every pair of different labels that occurred, the most frequent first; equals are in the order of
// their labels.
func (c *Confusion) Confused() []Confused {
	out := make([]Confused, 0, len(c.pairs))
	for pair, n := range c.pairs {
		out = append(out, Confused{pair.truth, pair.predicted, n})
	}
	slices.SortFunc(out, func(a, b Confused) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Truth, b.Truth),
			cmp.Compare(a.Predicted, b.Predicted))
	})
	return out
}

// sorted returns all labels in order of name. Everything is summed in this order.
func (c *Confusion) sorted() []string { return slices.Sorted(maps.Keys(c.labels)) }
