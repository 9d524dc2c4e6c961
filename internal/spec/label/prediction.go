package label

import (
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Prediction is what a classifier returned for an item.
type Prediction struct {
	ID string
	// Labels are what was predicted. Null is true without a prediction, unlike an empty list of labels.
	Labels []string
	Null   bool
	// Confidence is between 0 and 1, or nil when there is none.
	Confidence *float64
	// Line is its line in its file; 0 without a file.
	Line int
}

// Correct reports whether the prediction has exactly the expected labels, in any order.
func (p *Prediction) Correct(expected []string) bool {
	if p.Null || len(p.Labels) != len(expected) {
		return false
	}
	for _, label := range p.Labels {
		if !slices.Contains(expected, label) {
			return false
		}
	}
	return true
}

// ReadPrediction reads {"output": LABELS or null, "confidence": NUMBER} and reports faults.
func ReadPrediction(n source.Node) (p Prediction) {
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
	labels, _, ok := Find(output)
	p.Null = ok && labels.Kind == source.Null
	if ok && !p.Null {
		p.Labels, _ = Read(labels)
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

// ReadOutput reads the JSON of one prediction's output, such as {"intent": "label", "confidence": 0.9}, as
// ReadPrediction does; several allows any number of labels. ok is false if it is not a prediction.
func ReadOutput(data []byte, several bool) (p Prediction, ok bool) {
	v, err := source.ParseJSON("output", data, 1)
	if err != nil || v.Kind != source.Map {
		return Prediction{}, false
	}
	record := source.Value{Kind: source.Map, Line: 1, Fields: []source.Field{{Name: "output", Value: v}}}
	reader := &source.Reader{File: "output"}
	p = ReadPrediction(reader.Node(record, ""))
	p.Line = 0
	if len(reader.Problems) > 0 || !several && !p.Null && len(p.Labels) != 1 {
		return Prediction{}, false
	}
	return p, true
}
