package classify

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/report/classification"
)

// Part is one of several evaluations.
type Part struct {
	Name   string `json:"target"`
	Passed bool   `json:"passed"`
	// Summary is the verdict, or why there is none.
	Summary string `json:"summary"`
	// Report is nil for what has a report of its own form, and for what could not be evaluated.
	Report *classification.Report `json:"classification,omitempty"`
}

// Summary is what several evaluations came to.
type Summary struct {
	Passed bool   `json:"passed"`
	Parts  []Part `json:"targets"`
}

// Heading writes the heading of a part's report; JSON has none.
func Heading(w io.Writer, format, name string) {
	switch format {
	case "text":
		fmt.Fprintf(w, "== %s ==\n", name)
	case "md":
		fmt.Fprintf(w, "# %s\n\n", name)
	}
}

// Write writes the summary in a format: text, md or json. Only JSON has the reports of the parts in it.
func (s *Summary) Write(w io.Writer, format string) error {
	Heading(w, format, map[string]string{"text": "summary", "md": "Summary"}[format])
	switch format {
	case "json":
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		return e.Encode(s)
	case "md":
		fmt.Fprint(w, "| target | result |\n|---|---|\n")
		for _, part := range s.Parts {
			fmt.Fprintf(w, "| %s | %s |\n", text.Markdown(part.Name), text.Markdown(part.Summary))
		}
		return nil
	}
	table := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	for _, part := range s.Parts {
		fmt.Fprintf(table, "%s\t%s\n", part.Name, part.Summary)
	}
	return table.Flush()
}
