package classify

import (
	"io"
	"path/filepath"

	"github.com/rehearse-dev/rehearse/internal/report/classification"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
)

// Page returns the file of the report's page.
func (o *Outcome) Page() string { return filepath.Join(o.Dir, classification.Page) }

// Show writes the report in a format: text, md or json.
func (o *Outcome) Show(w io.Writer, format string) error {
	switch format {
	case "json":
		return o.Report.JSON(w)
	case "md":
		return o.Report.Markdown(w)
	}
	return o.Report.Text(w)
}

// WritePredictions writes the predictions that were made to a file, in the form that dataset.LoadPredictions reads.
// Several says that they are lists.
func (o *Outcome) WritePredictions(file string, several bool) error {
	return runlog.WriteFile(file, func(w io.Writer) error { return writePredictions(w, o.Predictions, several) })
}
