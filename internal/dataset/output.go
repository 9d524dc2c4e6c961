package dataset

import "rehearse/internal/source"

// ReadOutput reads the JSON of one prediction's output, such as {"intent": "label", "confidence": 0.9}, as LoadPredictions does; several says
// that there may be any number of labels. ok is false where it is none.
func ReadOutput(data []byte, several bool) (p Prediction, ok bool) {
	v, err := source.ParseJSON("output", data, 1)
	if err != nil || v.Kind != source.Map {
		return Prediction{}, false
	}
	record := source.Value{Kind: source.Map, Line: 1, Fields: []source.Field{{Name: "output", Value: v}}}
	reader := &source.Reader{File: "output"}
	p = readPrediction(reader.Node(record, ""))
	p.Line = 0
	if len(reader.Problems) > 0 || !several && !p.Null && len(p.Labels) != 1 {
		return Prediction{}, false
	}
	return p, true
}
