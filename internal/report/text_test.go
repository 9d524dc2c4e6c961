package report_test

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/report"
	"github.com/rehearse-dev/rehearse/internal/report/reporttest"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

func text(t *testing.T, r *report.Report, o report.TextOptions) string {
	t.Helper()
	return reporttest.Rendered(t, func(w io.Writer) error { return r.Text(w, o) })
}

func TestTextIsSafeForATerminal(t *testing.T) {
	run, tests := sample()
	run.ID, run.Targets = "r\x1b[2J", []string{"\x1b[2J"}
	r := report.New(run, each(tests...))
	ours := regexp.MustCompile(`\x1b\[[0-9;]*m`)
	for _, o := range []report.TextOptions{{}, {Verbose: true}, {Colour: true}, {Colour: true, Verbose: true},
		{Quiet: true, Dir: "\x1b[2J"}} {
		got := text(t, r, o)
		if o.Colour {
			got = ours.ReplaceAllString(got, "")
		}
		if i := strings.IndexFunc(got, func(r rune) bool {
			return r < ' ' && r != '\n' || r >= 0x7f && r < 0xa0 ||
				r == 0x202e
		}); i >= 0 {
			t.Errorf("%+v lets through %q", o, got[i:min(i+20, len(got))])
		}
	}
	// Nothing of a transcript may end or change the colours that are ours.
	if got := text(t, r, report.TextOptions{Colour: true}); strings.Count(got, "\x1b[0m")*2 != strings.Count(got,
		"\x1b[") {
		t.Error("colours are not in pairs")
	}
}

func TestTextFitsEightyColumns(t *testing.T) {
	run, tests := sample()
	for _, width := range []int{0, 40, 120} {
		o := report.TextOptions{Verbose: true, Width: width, Dir: "/a/folder"}
		for line := range strings.Lines(text(t, report.New(run, each(tests...)), o)) {
			limit := width
			if limit == 0 {
				limit = 80
			}
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > limit && !strings.Contains(line, "FAIL") {
				t.Errorf("width %d: a line of %d: %s", width, n, line)
			}
		}
	}
}

func TestTextStopsExplainingAtTwenty(t *testing.T) {
	var tests []*result.Test
	for i := range 25 {
		x := failed(test("s", fmt.Sprintf("t%02d", i), "hi", "no"), 0)
		fail(x, assert(x, 1, 0, unmet("yes", "contains", "no")), result.Failure{Code: result.AssistantContent,
			Message: "wanted yes"})
		tests = append(tests, x)
	}
	r := report.New(result.Run{}, each(tests...))
	got := text(t, r, report.TextOptions{})
	if strings.Count(got, "✗ t") != 20 || !strings.Contains(got,
		"… and 5 more failing tests: see report.html or report.md\n") {
		t.Errorf("not twenty and the rest:\n%s", got)
	}
	if got := text(t, r, report.TextOptions{Verbose: true}); strings.Count(got, "✗ t") != 25 {
		t.Errorf("verbose does not explain all:\n%s", got)
	}
	if got := text(t, r, report.TextOptions{Quiet: true}); strings.Contains(got, "✗") {
		t.Errorf("quiet explains:\n%s", got)
	}
}

func TestHeadlines(t *testing.T) {
	tests := func(verdicts ...result.Verdict) (out []*result.Test) {
		for i, v := range verdicts {
			x := test("s", fmt.Sprint(i))
			x.Verdict = v
			out = append(out, x)
		}
		return out
	}
	p, f, e, s := result.Pass, result.Fail, result.Error, result.Skip
	for _, tc := range []struct {
		tests  []*result.Test
		reason string
		want   string
	}{
		{nil, "", "No tests were run"},
		{tests(p), "passed", "The test passed"},
		{tests(p, p), "passed", "All 2 tests passed"},
		{tests(p, s), "passed", "1 of 2 tests passed, 1 skipped"},
		{tests(p, f), "failed", "1 of 2 tests failed"},
		{tests(p, e), "errors", "1 of 2 tests could not be run or graded"},
		{tests(f, e, s), "errors", "1 of 3 tests failed, 1 could not be run or graded, 1 skipped"},
		{tests(p, p), "interrupted", "Stopped (interrupted): 2 of 7 tests completed, 5 not run"},
		{tests(p, s), "budget", "Stopped (budget): 1 of 7 tests completed, 5 not run"},
		{nil, "aborted", "Stopped (aborted): 0 of 7 tests completed, 7 not run"},
		{tests(p, f), "running", "The run is under way: 2 of 7 tests completed"},
		{tests(p, f), "died", "The run died: 2 of 7 tests completed"},
	} {
		run := result.Run{ExitReason: tc.reason, Targets: []string{target}}
		if run.Stopped() {
			run.Totals.Planned = 7
		}
		got := text(t, report.New(run, each(tc.tests...)), report.TextOptions{Quiet: true})
		if first, _, _ := strings.Cut(got, "\n"); first != tc.want {
			t.Errorf("headline %q, want %q", first, tc.want)
		}
	}
}

func TestEveryFormatPassesOnErrors(t *testing.T) {
	broken := errors.New("broken log")
	stream := func(yield func(*runlog.Record, error) bool) {
		_ = yield(runlog.RecordOf(test("s", "a")), nil) && yield(nil, broken)
	}
	full := errors.New("disk full")
	for _, f := range append(report.Formats(), report.Format{Name: "text"}) {
		render := func(r *report.Report, w *limited) error {
			switch f.Name {
			case "html":
				return r.HTML(w)
			case "md":
				return r.Markdown(w)
			case "junit":
				return r.JUnit(w)
			}
			return r.Text(w, report.TextOptions{})
		}
		if err := render(report.New(result.Run{}, stream), &limited{n: 1 << 30}); !errors.Is(err, broken) {
			t.Errorf("%s of a broken log: %v", f.Name, err)
		}
		run, tests := sample()
		if err := render(report.New(run, each(tests...)), &limited{n: 300, err: full}); !errors.Is(err, full) {
			t.Errorf("%s to a full disk: %v", f.Name, err)
		}
	}
}

// limited is a disk with room for n bytes.
type limited struct {
	n   int
	err error
}

func (w *limited) Write(p []byte) (int, error) {
	if w.n -= len(p); w.n < 0 {
		return 0, w.err
	}
	return len(p), nil
}
