package report_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/rehearse-dev/rehearse/internal/report"
	"github.com/rehearse-dev/rehearse/internal/report/reporttest"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/testkit/golden"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// earlierRun is a baseline for the sample: one test passed then, one failed, one is gone.
func earlierRun() []*result.Test {
	_, tests := sample()
	var was []*result.Test
	for _, t := range tests {
		c := *t
		c.RunID = "20260713-180000-a1b2"
		switch t.TestID {
		case "refund-within-window":
			c.Verdict, c.Score = result.Pass, 0.9
		case "greets-by-name":
			c.Verdict, c.Score = result.Fail, 0
		case "keeps-answers-short":
			continue
		}
		was = append(was, &c)
	}
	gone := *tests[1]
	gone.TestID = "says-goodbye"
	return append(was, &gone)
}

func TestGolden(t *testing.T) {
	run, tests := sample()
	r := report.New(run, each(tests...))
	diff, err := compareWith(run, tests, earlierRun()...)
	if err != nil {
		t.Fatal(err)
	}
	withBaseline := run
	withBaseline.Comparison = diff
	compared := report.New(withBaseline, each(tests...))
	for _, tc := range []struct {
		file   string
		render func(io.Writer) error
	}{
		{"report.txt", func(w io.Writer) error {
			return compared.Text(w, report.TextOptions{Dir: ".rehearse/runs/20260714-093000-k3x9"})
		}},
		{"report-verbose.txt", func(w io.Writer) error { return r.Text(w, report.TextOptions{Verbose: true}) }},
		{"report.md", compared.Markdown},
		{"report.html", compared.HTML},
		{"junit.xml", r.JUnit},
	} {
		t.Run(tc.file, func(t *testing.T) {
			golden.Compare(t, tc.file, reporttest.Rendered(t, tc.render))
		})
	}
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	run, tests := sample()
	r := report.New(run, each(tests...))
	if err := r.Write(dir, report.Formats()); err != nil {
		t.Fatal(err)
	}
	html, err := os.ReadFile(filepath.Join(dir, "report.html"))
	if err != nil || len(html) < 10_000 {
		t.Errorf("report.html has %d bytes, %v", len(html), err)
	}
	// What fails leaves the earlier file, and nothing else.
	broken := report.New(run, func(yield func(*runlog.Record, error) bool) { yield(nil, os.ErrInvalid) })
	if err := broken.Write(dir, report.Formats()[:1]); !errors.Is(err, os.ErrInvalid) {
		t.Errorf("Write of a broken log: %v", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != len(report.Formats()) {
		t.Errorf("folder holds %v, %v", entries, err)
	}
	if again, err := os.ReadFile(filepath.Join(dir, "report.html")); err != nil || !bytes.Equal(again, html) {
		t.Errorf("report.html was touched: %v", err)
	}
}
