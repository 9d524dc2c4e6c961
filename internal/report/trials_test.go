package report_test

import (
	"io"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/report"
	"github.com/rehearse-dev/rehearse/internal/report/reporttest"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// TestTrialsNotRun proves that every report shows the planned trials that a cost limit left out, and not those behind
// a first pass that was enough.
func TestTrialsNotRun(t *testing.T) {
	for want, trials := range map[bool]result.Trials{
		true:  {Count: 2, Planned: 4, Passed: 2, Strategy: "pass_all", Scores: []float64{1, 1}},
		false: {Count: 2, Planned: 4, Passed: 1, Strategy: "pass_at_k", Scores: []float64{0, 1}},
	} {
		run, _ := sample()
		x := test("suites/travel.yaml", "cut", "hi", "hello")
		x.Trials = &trials
		r := report.New(run, each(x))
		for name, write := range map[string]func(io.Writer) error{
			"text": func(w io.Writer) error { return r.Text(w, report.TextOptions{Width: 120, Verbose: true}) },
			"md":   r.Markdown, "html": r.HTML, "junit": r.JUnit,
		} {
			if got := reporttest.Rendered(t, write); strings.Contains(got, "2 of 4 not run") != want {
				t.Errorf("%s, %s: %s", trials.Strategy, name, got)
			}
		}
	}
}
