package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/report/document"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// factsOf are the facts of a run, in the order in which every report has them.
func factsOf(run result.Run, dir string) []document.Fact {
	t := run.Totals
	ofJudge := dollars(t.Judge.Cost)
	if ofJudge != "" {
		ofJudge = "of which the judge " + ofJudge
	}
	return []document.Fact{
		{Name: "mean score", Value: MeanScore(t)},
		{Name: "reruns", Value: reruns(run)},
		{Name: "checks", Value: countOf(t.PassedWithFailures, "passed with failed checks")},
		{Name: "quarantine", Value: countOf(t.Quarantined, "run without deciding anything")},
		{
			Name: "tests", Value: testsCompleted(t),
			Note: text.Plural(t.Conversations, "conversation") + ", " + text.Plural(t.Turns, "turn"),
		},
		{Name: "tokens", Value: tokens(t)},
		{Name: "cost", Value: dollars(t.Cost), Note: ofJudge},
		{Name: "judge", Value: judged(run)},
		{Name: "user", Value: userCalls(t.User)},
		{Name: "user played", Value: usersPlayed(t.User)},
		{Name: "graded again", Value: regraded(run)},
		{Name: "duration", Value: text.Milliseconds(run.DurationMS)},
		{Name: "results", Value: text.OneLine(dir, 1000)},
	}
}

// countOf returns "3 tests passed with failed checks"; "" for none.
func countOf(n int, words string) string {
	if n == 0 {
		return ""
	}
	return text.Plural(n, "test") + " " + words
}

// countsOf counts the tests of each verdict.
func countsOf(t result.Totals) []document.Count {
	counts := []document.Count{
		{Name: "passed", Verdict: result.Pass, N: t.Passed}, {Name: "failed", Verdict: result.Fail, N: t.Failed},
		{Name: "errors", Verdict: result.Error, N: t.Errors}, {Name: "skipped", Verdict: result.Skip, N: t.Skipped},
	}
	if t.Ungraded > 0 {
		counts = append(counts, document.Count{Name: "not graded", Verdict: result.Ungraded, N: t.Ungraded})
	}
	return counts
}

// reruns returns how often failed tests of a run ran again, in words; "" for a run without.
func reruns(run result.Run) string {
	n := run.Reruns()
	if n == 0 {
		return ""
	}
	return text.Plural(n, "rerun") + " of failed tests; only the last outcome of each counts"
}

// regraded says what a run that graded another one again has of it; "" for other runs.
func regraded(run result.Run) string {
	if run.RegradedFrom == "" {
		return ""
	}
	return "the conversations of run " + text.OneLine(run.RegradedFrom, 100) +
		"; no target was called: tokens and costs of targets are those of that run"
}

func tokens(t result.Totals) string {
	s := inAndOut(t.Usage)
	if judge := inAndOut(t.Judge.Usage); judge != "" {
		s = strings.TrimPrefix(s+"; judge "+judge, "; ")
	}
	return s
}

// inAndOut writes a usage; nothing where there is none.
func inAndOut(u chat.Usage) string {
	s := ""
	if u.Total() > 0 {
		s = fmt.Sprintf("%s in, %s out", text.Count(u.InputTokens), text.Count(u.OutputTokens))
	}
	return atLeast(s, u.Unknown)
}

// atLeast writes an amount. When a part of it is unknown, it says so and gives the known part.
func atLeast(known string, unknown bool) string {
	switch {
	case !unknown:
		return known
	case known == "":
		return "unknown"
	}
	return "unknown (at least " + known + ")"
}

// dollars writes a cost; nothing where there is none.
func dollars(c chat.Cost) string {
	s := ""
	if c.USD > 0 {
		s = text.Dollars(c.USD)
	}
	return atLeast(s, c.Unknown)
}

// testsCompleted counts the tests; where some were not run, with what was planned.
func testsCompleted(t result.Totals) string {
	if t.NotRun == 0 {
		return text.Count(t.Tests)
	}
	return fmt.Sprintf("%s of %s, %s not run", text.Count(t.Tests), text.Count(t.Planned), text.Count(t.NotRun))
}

func judged(run result.Run) string {
	t := run.Totals
	if t.Judge.Calls+t.Judge.CacheHits == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s from the cache",
		text.Plural(t.Judge.Calls, "call"), text.Plural(t.Judge.CacheHits, "verdict"))
	for _, name := range slices.Sorted(maps.Keys(t.Judge.Models)) { // of a judge with several
		use := t.Judge.Models[name]
		if use.Calls == 0 {
			continue
		}
		fmt.Fprintf(&b, "; %s %s", text.OneLine(name, 60), text.Plural(use.Calls, "call"))
		if cost := dollars(use.Cost); cost != "" {
			b.WriteString(", cost " + cost)
		}
	}
	if run.SharesVerdicts() {
		b.WriteString("; trials share verdicts")
	}
	return b.String()
}
