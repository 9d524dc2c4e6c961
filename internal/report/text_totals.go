package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/report/terminal"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// totals writes the last block.
func (p paint) totals(run result.Run, dir string) {
	t := run.Totals
	_, colour := terminal.Mark(verdict(run))
	p.Wrap("", terminal.Bold+";"+colour, text.Capital(headline(run)))
	verdicts := strings.Join([]string{
		p.In(terminal.Green, "passed "+text.Count(t.Passed)), p.In(terminal.Red, "failed "+text.Count(t.Failed)),
		p.In(terminal.Yellow, "errors "+text.Count(t.Errors)), p.In(terminal.Dim, "skipped "+text.Count(t.Skipped)),
	}, "   ")
	if t.Ungraded > 0 {
		verdicts += "   " + p.In(terminal.Yellow, "not graded "+text.Count(t.Ungraded))
	}
	if len(terminal.Plain(verdicts)) > p.Width-2 {
		p.Wrap("  ", "", terminal.Plain(verdicts))
	} else {
		p.Line("  ", verdicts)
	}
	row := func(name, value string) {
		if value != "" {
			p.Wrap(fmt.Sprintf("  %-12s ", name), "", value)
		}
	}
	if t.Quarantined > 0 {
		row("quarantine", text.Plural(t.Quarantined, "test")+" run without deciding anything")
	}
	row("pass rate", RateOf(t, run.PassRate).String())
	row("mean score", MeanScore(t))
	row("reruns", reruns(run))
	if t.PassedWithFailures > 0 {
		row("checks", text.Plural(t.PassedWithFailures, "test")+" passed with failed checks")
	}
	for i, line := range trialsWords(run) {
		row([]string{"trials", ""}[min(i, 1)], line)
	}
	tags, more := tagRows(run.ByTag)
	for i, tag := range tags {
		row([]string{"tags", ""}[min(i, 1)], tag[0]+": "+tag[1])
	}
	if more > 0 {
		row("", "… and "+text.Plural(more, "more tag")+" in run.json")
	}
	row("failures", strings.Join(codeCounts(t), ", "))
	row("tests", fmt.Sprintf("%s (%s, %s)", testsHeld(t), text.Plural(t.Conversations, "conversation"), text.Plural(t.Turns, "turn")))
	row("tokens", tokens(t))
	row("cost", cost(t))
	row("judge", judged(run))
	row("user", usersAsked(t.User))
	row("user played", usersPlayed(t.User))
	row("graded again", regraded(run))
	row("duration", text.Milliseconds(run.DurationMS))
	row("results", text.OneLine(dir, 1000))
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
	return "the conversations of run " + text.OneLine(run.RegradedFrom, 100) + "; no target was asked, and tokens and costs of targets are those of that run"
}

// codeCounts returns "CODE n" for each failure code that occurred, in their order of precedence.
func codeCounts(t result.Totals) []string {
	var out []string
	for _, code := range result.Codes {
		if n := t.Failures[code]; n > 0 {
			out = append(out, string(code)+" "+text.Count(n))
		}
	}
	return out
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

func cost(t result.Totals) string {
	s := dollars(t.Cost)
	if judge := dollars(t.Judge.Cost); judge != "" {
		s += ", of which the judge " + judge
	}
	return s
}

// testsHeld counts the tests; where some were not run, with what was planned.
func testsHeld(t result.Totals) string {
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
	var said strings.Builder
	fmt.Fprintf(&said, "%s, %s from the cache", text.Plural(t.Judge.Calls, "call"), text.Plural(t.Judge.CacheHits, "verdict"))
	for _, name := range slices.Sorted(maps.Keys(t.Judge.Models)) { // of a judge with several
		use := t.Judge.Models[name]
		if use.Calls == 0 {
			continue
		}
		fmt.Fprintf(&said, "; %s %s", text.OneLine(name, 60), text.Plural(use.Calls, "call"))
		if cost := dollars(use.Cost); cost != "" {
			said.WriteString(", cost " + cost)
		}
	}
	if run.SharesVerdicts() {
		said.WriteString("; trials share verdicts")
	}
	return said.String()
}
