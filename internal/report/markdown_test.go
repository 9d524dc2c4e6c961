package report_test

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/report"
	"github.com/rehearse-dev/rehearse/internal/report/reporttest"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

func markdown(t *testing.T, r *report.Report) string {
	t.Helper()
	return reporttest.Rendered(t, func(w io.Writer) error { return r.Markdown(w) })
}

// TestMarkdownFitsIntoAComment also with far more failing tests than there is room for.
func TestMarkdownFitsIntoAComment(t *testing.T) {
	var tests []*result.Test
	for i := range 1_200 {
		x := failed(test("suites/with/a/long/name.yaml", fmt.Sprintf("test-%d", i), "question", strings.Repeat("word ",
			500)), 0)
		fail(x, assert(x, 1, 0, unmet("something", "rubrics", "no")), result.Failure{Code: result.AssistantContent,
			Message: "wanted: something"})
		tests = append(tests, x)
	}
	got := markdown(t, report.New(result.Run{}, each(tests...)))
	if n := len([]rune(got)); n > 65_536 {
		t.Errorf("%d characters, over GitHub's limit", n)
	}
	rows, blocks := strings.Count(got, "| ❌ |"), strings.Count(got, "<details>")
	if rows == 0 || blocks == 0 || strings.Count(got, "</details>") != blocks {
		t.Errorf("%d rows, %d blocks", rows, blocks)
	}
	for _, want := range []string{
		fmt.Sprintf("… and %s, not listed here", commas(1_200-rows)+" more tests"),
		fmt.Sprintf("… and %s more failing tests without details here", commas(1_200-blocks)),
	} {
		if !strings.Contains(got, want) {
			t.Errorf("lacks %q", want)
		}
	}
}

func commas(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

// TestMarkdownIsInert looks outside of fences, inside of which GitHub shows everything as it is.
func TestMarkdownIsInert(t *testing.T) {
	run, tests := sample()
	fence := ""
	for line := range strings.Lines(markdown(t, report.New(run, each(tests...)))) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case fence == "" && strings.HasPrefix(line, "```"):
			fence = strings.TrimSuffix(line, "text")
			continue
		case fence != "" && line == fence:
			fence = ""
			continue
		case fence != "":
			continue
		}
		for _, never := range []string{
			"<script", "<img", "](javascript", "@octocat", "@everyone", "://", "www.", "\x1b",
		} {
			if strings.Contains(strings.ReplaceAll(line, `\]`, ""), never) {
				t.Errorf("%q in %s", never, line)
			}
		}
		if strings.HasPrefix(line, "| ") &&
			!slices.Contains([]int{3, 6}, strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")) {
			t.Errorf("row of another width: %s", line)
		}
	}
	if fence != "" {
		t.Error("a fence is left open")
	}
}

// TestPassedWithFailures checks that the row of a passed test names its failed checks rather than their code.
func TestPassedWithFailures(t *testing.T) {
	x := test("post", "parcel", "Where is it?", "In the depot.")
	fail(x, assert(x, 1, 0.85, unmet(`contains "locker 3307"`, "contains", "")), result.Failure{
		Code: result.AssistantContent, Message: `wanted: contains "locker 3307"`,
	})
	x.Verdict, x.ExecutionStatus, x.Score, x.GradedScore = result.Pass, result.OK, 0.85, new(0.85)
	x.Scores[0].Verdict = result.Pass
	got := markdown(t, report.New(result.Run{}, each(x)))
	if !strings.Contains(got, `| 1 of 1 check failed: contains "locker 3307"`) {
		t.Error(got)
	}
}
