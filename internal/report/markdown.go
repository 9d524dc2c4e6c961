package report

import (
	"cmp"
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/report/page"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Limits of report.md, whose details stop at text.MaxComment.
const (
	maxTable     = 1_000
	maxDetails   = 200
	maxTableText = 30_000
	maxSaid      = 2_000 // characters of one message in a transcript
)

// Markdown writes the report for a comment on a pull request: the verdict, a table of tests with the failing ones first,
// and what went wrong in each of those, as much as a comment holds. What is left out is said.
func (r *Report) Markdown(w io.Writer) error {
	run, s, err := r.summary()
	if err != nil {
		return err
	}
	b := &strings.Builder{}
	mdHead(b, run)
	mdQuarantines(b, run, s)
	if run.Comparison != nil {
		mdComparison(b, run.Comparison, gate(run))
	}
	if m := matrixOf(run, s); m != nil {
		m.markdown(b, run)
	}
	r.mdTable(b, run, s)
	if err := r.mdDetails(b, run, s); err != nil {
		return err
	}
	fmt.Fprintf(b, "<sub>rehearse %s · run %s · %s</sub>\n", text.Markdown(text.OneLine(run.Version, 100)), text.Markdown(text.OneLine(run.ID, 100)), text.Milliseconds(run.DurationMS))
	_, err = io.WriteString(w, b.String())
	return err
}

func mdHead(b *strings.Builder, run result.Run) {
	t := run.Totals
	if run.Stopped() {
		// The underline makes it a heading that begins with its first word.
		fmt.Fprintf(b, "%s\n---\n\n", text.Capital(headline(run)))
	} else {
		fmt.Fprintf(b, "## %s %s\n\n", page.Emoji(verdict(run)), text.Capital(headline(run)))
	}
	facts := []string{}
	if rate := RateOf(t, run.PassRate); rate.Value != "" {
		facts = append(facts, fmt.Sprintf("pass rate **%s** (%s)", rate.Value, rate.Note))
	}
	if mean := MeanScore(t); mean != "" {
		facts = append(facts, fmt.Sprintf("mean score **%s**", mean))
	}
	if again := reruns(run); again != "" {
		facts = append(facts, again)
	}
	if t.PassedWithFailures > 0 {
		facts = append(facts, fmt.Sprintf("%s passed with failed checks", text.Count(t.PassedWithFailures)))
	}
	facts = append(facts, text.Plural(t.Conversations, "conversation"), text.Plural(t.Turns, "turn"))
	for _, f := range []struct{ name, value string }{{"tokens ", tokens(t)}, {"cost ", cost(t)}, {"judge ", text.Markdown(judged(run))}} {
		if f.value != "" {
			facts = append(facts, f.name+f.value)
		}
	}
	facts[0] = text.Capital(facts[0])
	fmt.Fprintf(b, "%s\n\n", strings.Join(facts, " · "))
	if t.User != nil {
		fmt.Fprintf(b, "Simulated user: %s · %s\n\n", usersAsked(t.User), text.Markdown(usersPlayed(t.User)))
	}
	if again := regraded(run); again != "" {
		fmt.Fprintf(b, "Graded again: %s.\n\n", text.Markdown(again))
	}
	if codes := codeCounts(t); len(codes) > 0 {
		fmt.Fprintf(b, "Failure codes: %s\n\n", strings.Join(codes, " · "))
	}
	for _, line := range trialsWords(run) {
		fmt.Fprintf(b, "%s\n\n", text.Markdown(line))
	}
	if rows, more := tagRows(run.ByTag); len(rows) > 0 {
		b.WriteString("| Tag | Passed |\n|---|---|\n")
		for _, row := range rows {
			fmt.Fprintf(b, "| %s | %s |\n", text.Markdown(row[0]), row[1])
		}
		if b.WriteString("\n"); more > 0 {
			fmt.Fprintf(b, "… and %s in run.json.\n\n", text.Plural(more, "more tag"))
		}
	}
	if rule := ruleOfThree(run); rule != "" {
		fmt.Fprintf(b, "%s\n\n", rule)
	}
}

// mdTable writes a row per test, the failing ones first.
func (r *Report) mdTable(b *strings.Builder, run result.Run, s *survey) {
	if run.Totals.Tests+len(s.notRun) == 0 {
		return
	}
	b.WriteString("| | Test | Score | Failure | Time |\n|---|---|---|---|---|\n")
	rows, limit := 0, b.Len()+maxTableText
	for _, list := range [][]*entry{s.failing, s.others} {
		for _, e := range list {
			if rows == maxTable || b.Len() > limit {
				break
			}
			rows++
			scored, time := scoreWords(e.score, e.graded), ""
			if !e.verdict.Graded() {
				scored = word(e)
			}
			if e.durationMS > 0 {
				time = text.Milliseconds(e.durationMS)
			}
			if e.trials != nil {
				scored += fmt.Sprintf("<br>%d of %s%s", e.trials.Passed, text.Plural(e.trials.Count, "trial"), trialsNotRun(e.trials))
			}
			why := codeCell(e.codes)
			if e.checks != "" {
				why = text.Markdown(text.OneLine(e.checks, maxSentence))
			}
			why = cmp.Or(why, text.Markdown(text.OneLine(e.reason, maxSentence)))
			if e.cut != "" {
				why = strings.TrimPrefix(why+"<br>"+e.cut, "<br>")
			}
			fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", signOf(e), r.linkedCell(e), scored, why, time)
		}
	}
	b.WriteString("\n")
	if left := run.Totals.Tests + run.Totals.NotRun - rows; left > 0 {
		fmt.Fprintf(b, "… and %s, not listed here: see report.html or %s.\n\n", text.Plural(left, "more test"), runlog.LogFile)
	}
}

// mdDetails writes a block per failing test until the report is long enough.
func (r *Report) mdDetails(b *strings.Builder, run result.Run, s *survey) error {
	failing := run.Totals.Failed + run.Totals.Errors
	// A block takes some 500 characters at the least, so more than these would never fit.
	shown, err := r.explain(s.failing[:min(len(s.failing), maxDetails)])
	if err != nil {
		return err
	}
	written := 0
	for _, x := range shown {
		block := mdBlock(x, r.link(spotOf(x.Test)))
		if b.Len()+len(block) > text.MaxComment {
			break
		}
		b.WriteString(block)
		written++
	}
	if left := failing - written; left > 0 {
		fmt.Fprintf(b, "… and %s without details here: see report.html or %s.\n\n", text.Plural(left, "more failing test"), runlog.LogFile)
	}
	return nil
}

func mdBlock(x explained, address string) string {
	b := &strings.Builder{}
	about := shortfall(x.entry)
	if x.verdict == result.Error {
		about = "could not be run or graded"
	}
	name := "<b>" + text.MarkdownHTML(text.OneLine(x.entry.test, 200)) + "</b>"
	if address != "" {
		name = fmt.Sprintf("<a href=\"%s\">%s</a>", html.EscapeString(address), name)
	}
	fmt.Fprintf(b, "<details><summary>%s %s %s</summary>\n\n", page.Emoji(x.verdict), name, about)
	if x.trials != nil {
		b.WriteString(TrialsPassed(x.trials) + ".\n\n")
		mdFailures(b, x.entry.failures, nil)
		if x.trial == 0 {
			b.WriteString("\n</details>\n\n")
			return b.String()
		}
		fmt.Fprintf(b, "\nTrial %d, score %s:\n\n", x.trial, score(x.Test.Score))
	}
	for _, f := range findings(x.Test) {
		fmt.Fprintf(b, "**%s**", text.Capital(text.Markdown(text.OneLine(f.place, 60))))
		fmt.Fprintf(b, "%s\n\n", f.about())
		mdFailures(b, f.failures, f.unmet)
		for _, a := range f.unmet {
			fmt.Fprintf(b, "- ❌ %s\n", text.Markdown(sentence(a)))
		}
		b.WriteString("\n")
	}
	if names := notReached(x.Test); len(names) > 0 {
		fmt.Fprintf(b, "Skipped: %s\n\n", text.Markdown(strings.Join(names, ", ")))
	}
	mdUser(b, x.User)
	mdTranscript(b, x.Output)
	b.WriteString("</details>\n\n")
	return b.String()
}

func mdFailures(b *strings.Builder, failures []result.Failure, unmet []result.Assertion) {
	for _, f := range failures {
		fmt.Fprintf(b, "- `%s`%s", strings.ReplaceAll(text.OneLine(string(f.Code), 40), "`", ""), text.Markdown(from(f.Source)))
		if !told(f, unmet) {
			b.WriteString(": " + text.Markdown(text.OneLine(f.Message, maxSentence)))
		}
		b.WriteString("\n")
	}
}

// mdTranscript writes what was said in a fence that the text cannot end.
func mdTranscript(b *strings.Builder, messages []chat.Message) {
	if len(messages) == 0 {
		return
	}
	said := &strings.Builder{}
	for _, m := range messages {
		fmt.Fprintf(said, "%s: %s", text.OneLine(string(m.Role), 20), text.Beginning(m.Content.String(), maxSaid))
		for _, call := range m.ToolCalls {
			fmt.Fprintf(said, "\n[calls %s %s]", text.OneLine(call.Name, 100), text.OneLine(string(call.Args), 300))
		}
		said.WriteString("\n")
	}
	fence := "```"
	for strings.Contains(said.String(), fence) {
		fence += "`"
	}
	fmt.Fprintf(b, "%stext\n%s%s\n\n", fence, said, fence)
}
