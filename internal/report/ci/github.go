package ci

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/report"
)

// maxAnnotations is how many annotations of one kind GitHub shows of a step; the last of them counts the rest.
const maxAnnotations = 10

// maxSummary is how much of a summary GitHub takes, in bytes.
const maxSummary = 1_000_000

// gitHub appends report.md to the job's summary and annotates the lines of failing tests
// (docs.github.com, "Workflow commands for GitHub Actions").
func (s System) gitHub(w io.Writer, said Summary) error {
	summary := s.summarize(said.Dir)
	failing, more, err := said.Failing(maxAnnotations - 1)
	if err != nil {
		return errors.Join(summary, err)
	}
	if said.Stopped != "" {
		fmt.Fprintf(w, "::error title=rehearse::%s\n", data(said.Stopped))
		failing, more = cut(failing, more, maxAnnotations-2)
	}
	targets := severalTargets(failing)
	for _, f := range failing {
		properties := ""
		if f.File != "" {
			properties = fmt.Sprintf("file=%s,line=%d,", property(s.file(f.File)), f.Line)
		}
		fmt.Fprintf(w, "::%s %stitle=%s::%s\n", kind(f.Quarantined), properties, property(title(f, targets)),
			data(message(f)))
	}
	for _, r := range said.others(failing, more) {
		fmt.Fprintf(w, "::%s title=%s::%s\n", r.kind, property(r.what), r.what)
	}
	return summary
}

// cut leaves at most so many, and counts the others with the rest.
func cut(failing []report.Failing, more, most int) ([]report.Failing, int) {
	if len(failing) <= most {
		return failing, more
	}
	return failing[:most], more + len(failing) - most
}

// summarize appends the report of the run to the job's summary. A run that wrote no report.md has none.
func (s System) summarize(dir string) error {
	if s.Summary == "" || dir == "" {
		return nil
	}
	report, err := os.ReadFile(filepath.Join(dir, "report.md"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("summary of the job: %w", err)
	}
	file, err := os.OpenFile(s.Summary, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("summary of the job: %w", err)
	}
	_, err = file.Write(bounded(report))
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("summary of the job: %w", err)
	}
	return nil
}

// bounded returns as many whole lines of a report as the summary takes.
func bounded(report []byte) []byte {
	if len(report) <= maxSummary {
		return report
	}
	const left = "\n\n… the report is longer than a summary may be: see report.md of the run\n"
	head := report[:maxSummary-len(left)]
	if end := strings.LastIndexByte(string(head), '\n'); end > 0 {
		head = head[:end]
	}
	return append(slices.Clip(head), left...)
}

// data escapes what stands behind the second pair of colons of a command, property a property's value.
func data(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(text.Visible(s))
}

func property(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(data(s))
}
