package report

import (
	"fmt"
	"io"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// Transcript writes everything that was said in each test, safe for a terminal.
func (r *Report) Transcript(w io.Writer) error {
	for record, err := range r.tests {
		if err != nil {
			return err
		}
		t, err := record.Decode()
		if err != nil {
			return err
		}
		name := t.TestID
		if t.Trial > 0 {
			name += fmt.Sprintf(", trial %d", t.Trial)
		}
		if _, err := fmt.Fprintf(w, "%s\n\n%s\n\n", printed(name), printed(chat.Format(t.Output))); err != nil {
			return err
		}
	}
	return nil
}

// printed returns a text of several lines safe for a terminal and for whoever reads its output.
func printed(s string) string { return text.NoCommand(text.Visible(s)) }
