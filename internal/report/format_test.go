package report

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// TestAddingAFormat adds a line to the table: flags accept and tell it, it is written, and moved aside with the run.
func TestAddingAFormat(t *testing.T) {
	formats := append(Formats(), Format{
		Name: "csv", File: "report.csv", Doc: "a row per test", marks: []string{"row"},
		render: func(_ *Report, w io.Writer) error { _, err := io.WriteString(w, "row\n"); return err },
	})
	if got, want := formats.Help(), "html, md, junit, csv, or none"; got != want {
		t.Errorf("Help = %q, want %q", got, want)
	}
	if err := formats.Check([]string{"csv", "html", "none"}); err != nil {
		t.Error(err)
	}
	err := formats.Check([]string{"md", "pdf"})
	if want := `unknown format "pdf": use html, md, junit, csv or none; results.jsonl and run.json are always written`; err == nil ||
		err.Error() != want {
		t.Errorf("Check = %v, want %q", err, want)
	}
	dir := t.TempDir()
	none := func(func(*runlog.Record, error) bool) {}
	if err := New(result.Run{}, none).Write(dir, formats.Choose([]string{"none", "csv"})); err != nil {
		t.Fatal(err)
	}
	if err := runlog.WriteRun(dir, result.Run{ID: "r"}); err != nil {
		t.Fatal(err)
	}
	aside, err := runlog.MoveAside(dir, formats.Marks())
	if err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(aside, "report.csv")); err != nil || string(data) != "row\n" {
		t.Errorf("the report of the new format: %q, %v", data, err)
	}
}

// TestFormatTable holds every line to what the table promises.
func TestFormatTable(t *testing.T) {
	dir := t.TempDir()
	none := func(func(*runlog.Record, error) bool) {}
	if err := New(result.Run{}, none).Write(dir, Formats()); err != nil {
		t.Fatal(err)
	}
	for i, f := range Formats() {
		info, err := os.Stat(filepath.Join(dir, f.File))
		if err != nil || info.Size() == 0 || f.Doc == "" || f.Name == noFormat {
			t.Errorf("%s: its file %s: %v", f.Name, f.File, err)
		}
		for _, other := range Formats()[:i] {
			if other.Name == f.Name || other.File == f.File {
				t.Errorf("%s and %s share a name or a file", other.Name, f.Name)
			}
		}
	}
	if d := cmp.Diff([]string{"md"}, Formats().Choose([]string{"md", "none", "md"}).Names()); d != "" {
		t.Error(d)
	}
	broken := New(result.Run{}, func(yield func(*runlog.Record, error) bool) { yield(nil, os.ErrInvalid) })
	if err := broken.Write(dir, Formats()); !errors.Is(err, os.ErrInvalid) {
		t.Errorf("Write of a broken log: %v", err)
	}
}
