package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"rehearse/internal/dataset"
	"rehearse/internal/runlog"
)

// classifyRow is what is written of an item: 1 for a correct prediction and 0 for another.
type classifyRow struct {
	ID         string   `json:"id"`
	Expected   []string `json:"expected"`
	Predicted  []string `json:"predicted"` // null when there was none
	Correct    float64  `json:"correct"`
	Confidence *float64 `json:"confidence,omitempty"`
}

// writeFolder writes the report in every form, and a row per item.
func (r *classification) writeFolder(dir string, set dataset.Set, predictions []dataset.Prediction) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	rows := func(w io.Writer) error {
		for i := range predictions {
			p, item := &predictions[i], &set.Items[i]
			row := classifyRow{ID: item.ID, Expected: item.Labels, Predicted: p.Labels, Confidence: p.Confidence}
			if p.Correct(item) {
				row.Correct = 1
			}
			if err := writeJSON(w, row); err != nil {
				return err
			}
		}
		return nil
	}
	return errors.Join(
		runlog.WriteFile(filepath.Join(dir, "classification.json"), func(w io.Writer) error { return writeJSON(w, r) }),
		runlog.WriteFile(filepath.Join(dir, "report.md"), r.markdown),
		runlog.WriteFile(filepath.Join(dir, "report.html"), r.page),
		runlog.WriteFile(filepath.Join(dir, "items.jsonl"), rows),
	)
}
