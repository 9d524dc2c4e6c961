package classify

import (
	"encoding/json"
	"io"

	"rehearse/internal/dataset"
)

// WritePredictions writes the predictions that were made in the form that dataset.LoadPredictions reads. Several says that they are lists.
func WritePredictions(w io.Writer, predictions []dataset.Prediction, several bool) error {
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	for i := range predictions {
		p := &predictions[i]
		line := struct {
			ID         string   `json:"id"`
			Output     any      `json:"output"`
			Confidence *float64 `json:"confidence,omitempty"`
		}{ID: p.ID, Confidence: p.Confidence}
		switch {
		case p.ID == "": // not made
			continue
		case p.Null:
		case several:
			line.Output = p.Labels
		default:
			line.Output = p.Labels[0]
		}
		if err := lines.Encode(line); err != nil {
			return err
		}
	}
	return nil
}
