// Package label reads the labels of classified messages, and what a classifier has predicted.
package label

import (
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// keys are the entries of an object that contain its label or labels.
var keys = []string{"intent", "label", "skill", "intents", "labels", "skills"}

// null is the row of items without a prediction in reports, so it cannot be a label.
const null = "__null__"

// Most is how many labels one message may have. A label has up to maxBytes bytes.
const (
	Most     = 100
	maxBytes = 200
)

const hint = `write "label", {"intent": "label"} or ["label", "other"]`

// Find returns the label or labels in an output: the output itself, or the only entry of an object that contains them,
// with its name. It reports an object that has none or several; ok is false then.
func Find(n source.Node) (labels source.Node, name string, ok bool) {
	if n.Kind != source.Map {
		return n, "", true
	}
	found := 0
	for _, key := range keys {
		if _, has := n.Get(key); has {
			labels, name = n.Field(key), key
			found++
		}
	}
	switch {
	case found == 0:
		n.Report(hint, "the object has none of %s", strings.Join(keys, ", "))
	case found > 1:
		n.Report("keep one of them", "the object has more than one of %s", strings.Join(keys, ", "))
	}
	return labels, name, found == 1
}

// Read reads a label or a list of labels, and reports faults; several is true of a list.
func Read(n source.Node) (labels []string, several bool) {
	if n.Kind != source.List {
		if label, ok := readOne(n); ok {
			labels = []string{label}
		}
		return labels, false
	}
	if len(n.Items) > Most {
		n.Report("keep those that matter", "%d labels for one item; there may be %d", len(n.Items), Most)
		return nil, true
	}
	labels = make([]string, 0, len(n.Items))
	for _, item := range n.List() {
		label, ok := readOne(item)
		if ok && slices.Contains(labels, label) {
			item.Report("write each label once", "the label %q stands twice", label)
		}
		labels = append(labels, label)
	}
	return labels, true
}

// readOne reads one label; numbers and booleans count as they are written.
func readOne(n source.Node) (label string, ok bool) {
	switch {
	case n.Kind != source.String && n.Kind != source.Number && n.Kind != source.Bool:
		n.Report(hint, "expected a label, got %s", n.Kind)
	case strings.TrimSpace(n.Scalar) == "":
		n.Report(hint, "the label is empty")
	case len(n.Scalar) > maxBytes:
		n.Report("a label is a short name, not an answer", "the label is longer than %d bytes", maxBytes)
	case n.Scalar == null:
		n.Report("write null for a prediction that was not made; an item needs a label of its own for it, such as none",
			"the label %s stands for no prediction", null)
	default:
		return n.Scalar, true
	}
	return "", false
}
