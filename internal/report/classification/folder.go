package classification

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/rehearse-dev/rehearse/internal/data/dataset"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/label"
)

// row is what is written of an item: 1 for a correct prediction and 0 for another.
type row struct {
	ID         string   `json:"id"`
	Expected   []string `json:"expected"`
	Predicted  []string `json:"predicted"` // null when there was none
	Correct    float64  `json:"correct"`
	Confidence *float64 `json:"confidence,omitempty"`
}

// Page is the name of the page among the files that Write writes.
const Page = "report.html"

// The files that Write writes besides those that have the names of a run's reports.
const (
	dataFile = "classification.json"
	rowsFile = "items.jsonl"
)

// Marks tell these files from files of somebody else: each of ours holds the text.
func Marks() map[string][]string {
	return map[string][]string{dataFile: {`"accuracy_interval":`}, rowsFile: {`"predicted":`}}
}

// Write writes the report in every form into a folder, each file whole or not at all, and a row for each item.
func (r *Report) Write(dir string, set dataset.Set, predictions []label.Prediction) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	rows := func(w io.Writer) error {
		lines := linesTo(w)
		for i := range predictions {
			p, item := &predictions[i], &set.Items[i]
			line := row{ID: item.ID, Expected: item.Labels, Predicted: p.Labels, Confidence: p.Confidence}
			if p.Correct(item.Labels) {
				line.Correct = 1
			}
			if err := lines.Encode(line); err != nil {
				return err
			}
		}
		return nil
	}
	return errors.Join(
		runlog.WriteFile(filepath.Join(dir, dataFile), r.JSON),
		runlog.WriteFile(filepath.Join(dir, "report.md"), r.Markdown),
		runlog.WriteFile(filepath.Join(dir, Page), r.HTML),
		runlog.WriteFile(filepath.Join(dir, rowsFile), rows),
	)
}

// JSON writes the report as one line.
func (r *Report) JSON(w io.Writer) error { return linesTo(w).Encode(r) }

func linesTo(w io.Writer) *json.Encoder {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e
}
