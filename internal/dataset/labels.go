package dataset

import (
	"slices"
	"strings"

	"rehearse/internal/source"
)

// labelKeys are the entries of an object that hold its label or labels.
var labelKeys = []string{"intent", "label", "skill", "intents", "labels", "skills"}

// nullLabel is what items without a prediction are counted as, so it cannot be a label of its own.
const nullLabel = "__null__"

const labelHint = `write "label", {"intent": "label"} or ["label", "other"]`

// labelled finds the label or labels in an output: the output itself, or the one entry of an object that holds them, whose name it returns.
func labelled(n source.Node) (labels source.Node, name string, ok bool) {
	if n.Kind != source.Map {
		return n, "", true
	}
	found := 0
	for _, key := range labelKeys {
		if _, has := n.Get(key); has {
			labels, name = n.Field(key), key
			found++
		}
	}
	switch {
	case found == 0:
		n.Report(labelHint, "the object has none of %s", strings.Join(labelKeys, ", "))
	case found > 1:
		n.Report("keep one of them", "the object has more than one of %s", strings.Join(labelKeys, ", "))
	}
	return labels, name, found == 1
}

// readLabels reads a label or a list of labels; a list says that there may be several.
func readLabels(n source.Node) (labels []string, several bool) {
	if n.Kind != source.List {
		if label, ok := readLabel(n); ok {
			labels = []string{label}
		}
		return labels, false
	}
	if len(n.Items) > MaxLabels {
		n.Report("keep those that matter", "%d labels for one item; there may be %d", len(n.Items), MaxLabels)
		return nil, true
	}
	labels = make([]string, 0, len(n.Items))
	for _, item := range n.List() {
		label, ok := readLabel(item)
		if ok && slices.Contains(labels, label) {
			item.Report("write each label once", "the label %q stands twice", label)
		}
		labels = append(labels, label)
	}
	return labels, true
}

// readLabel reads one label; numbers and booleans count as what was written.
func readLabel(n source.Node) (label string, ok bool) {
	switch {
	case n.Kind != source.String && n.Kind != source.Number && n.Kind != source.Bool:
		n.Report(labelHint, "expected a label, got %s", n.Kind)
	case strings.TrimSpace(n.Scalar) == "":
		n.Report(labelHint, "the label is empty")
	case len(n.Scalar) > maxLabelBytes:
		n.Report("a label is a short name, not an answer", "the label is longer than %d bytes", maxLabelBytes)
	case n.Scalar == nullLabel:
		n.Report("write null for a prediction that was not made; an item needs a label of its own for it, such as none",
			"the label %s stands for no prediction", nullLabel)
	default:
		return n.Scalar, true
	}
	return "", false
}
