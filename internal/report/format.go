package report

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/report/classification"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
)

// Format is a kind of report that goes into a file.
type Format struct {
	Name string // as in --format
	File string
	// Doc says what it is for, in one line.
	Doc string
	// marks tell a file of this format from a file of somebody else: each of ours holds at least one of these texts.
	marks  []string
	render func(*Report, io.Writer) error
}

// FormatTable is a list of formats. What a command line accepts and says of them, and what belongs to an earlier run,
// is read from it.
type FormatTable []Format

// Formats returns every format. Adding one is a file with its method and a line here.
func Formats() FormatTable {
	return FormatTable{
		{
			htmlFormat, htmlFile, "one self-contained page to read and to send around",
			[]string{`class="brand">rehearse<`}, (*Report).HTML,
		},
		{"md", "report.md", "Markdown that fits into a comment on a pull request", []string{"<sub>rehearse ",
			"## Classification: "}, (*Report).Markdown},
		{"junit", "junit.xml", "JUnit XML for CI systems", []string{`<testsuites name="rehearse"`}, (*Report).JUnit},
	}
}

const (
	htmlFormat = "html"
	htmlFile   = "report.html"
	noFormat   = "none" // the name that asks for no report
)

// Names returns the names of the formats.
func (t FormatTable) Names() []string {
	names := make([]string, 0, len(t))
	for _, f := range t {
		names = append(names, f.Name)
	}
	return names
}

// Files returns the names of the files that the formats are written to.
func (t FormatTable) Files() []string {
	files := make([]string, 0, len(t))
	for _, f := range t {
		files = append(files, f.File)
	}
	return files
}

// Marks returns the marks of each file by its name. A report of ours holds at least one of them.
func (t FormatTable) Marks() map[string][]string {
	marks := make(map[string][]string, len(t))
	for _, f := range t {
		marks[f.File] = f.marks
	}
	return marks
}

// Owned returns the marks of every file that a run may have beside its log: the reports of all formats, and the files
// of a classification.
func Owned() map[string][]string {
	marks := Formats().Marks()
	maps.Copy(marks, classification.Marks())
	return marks
}

// Help says in the help of a flag what may be chosen, such as "html, md, junit, or none".
func (t FormatTable) Help() string { return strings.Join(t.Names(), ", ") + ", or " + noFormat }

// Check returns an error, fit for whoever typed the names, unless each is a format's or none.
func (t FormatTable) Check(names []string) error {
	for _, name := range names {
		if name != noFormat && !slices.Contains(t.Names(), name) {
			return fmt.Errorf("unknown format %q: use %s or %s; %s and %s are always written",
				name, strings.Join(t.Names(), ", "), noFormat, runlog.LogFile, runlog.RunFile)
		}
	}
	return nil
}

// Choose returns the formats of these names, each once, in the order of the table. Other names, such as none, choose
// nothing.
func (t FormatTable) Choose(names []string) FormatTable {
	return slices.DeleteFunc(slices.Clone(t), func(f Format) bool { return !slices.Contains(names, f.Name) })
}

// Write renders the report in each of the formats into its file in dir, whole or not at all, all at the same time.
func (r *Report) Write(dir string, formats FormatTable) error {
	if !slices.Contains(formats.Names(), htmlFormat) && r.base == "" {
		_, err := os.Stat(filepath.Join(dir, htmlFile))
		r.unlinked = err != nil
	}
	var all sync.WaitGroup
	failed := make([]error, len(formats))
	for i, f := range formats {
		all.Go(func() {
			path := filepath.Join(dir, f.File)
			if err := runlog.WriteFile(path, func(w io.Writer) error { return f.render(r, w) }); err != nil {
				failed[i] = fmt.Errorf("write %s: %w", path, err)
			}
		})
	}
	all.Wait()
	return errors.Join(failed...)
}
