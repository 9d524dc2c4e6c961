package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"rehearse/internal/replay"
	"rehearse/internal/text"
)

// consoleWidth is the most that a line of ReplayConsole takes.
const consoleWidth = 120

// meaningColumn is the head of a column of words.
const meaningColumn = "What it is"

// ReplayConsole writes the report of a replay run as plain text: the specification's block as it is (S4.36), the comparison with
// its intervals, what was left out, and last the line that names the run.
func ReplayConsole(w io.Writer, r *replay.Report) error {
	p := &paint{Writer: bufio.NewWriter(w), width: consoleWidth}
	p.replayBlock(r)
	p.line()
	p.replayAbout(r)
	p.line()
	p.wrap("", "", replaySentences(r))
	if belief := beliefSentence(r); belief != "" {
		p.wrap("", "", "May it be believed? "+belief)
	}
	if gate := gateSentence(r); gate != "" {
		p.wrap("", "", gate)
	}
	groups := groupsOf(r)
	p.replayComparison(r, groups.first)
	p.replaySupport(r, groups)
	p.replayMore(r, groups)
	p.replayDivergences(r)
	p.replayNotes(r)
	p.line()
	p.line("Evaluation completed: ", text.OneLine(r.Run.ID, 100))
	return p.Flush()
}

// replayBlock writes what S4 prints, letter by letter.
func (p *paint) replayBlock(r *replay.Report) {
	figure := func(v *float64, format string, scale float64) string {
		if v == nil || !finite(*v) {
			return notApplicable
		}
		return fmt.Sprintf(format, scale**v)
	}
	p.line()
	p.line("Conversation Replay Evaluation Results:")
	p.line(fmt.Sprintf("  Sessions evaluated: %d", r.Run.Sessions))
	p.line("  Completion match: ", figure(r.Run.CompletionMatch, "%.2f%%", 100))
	p.line("  Avg turn count ratio: ", figure(r.Run.TurnCountRatio, "%.2f", 1))
	p.line("  State progression match: ", figure(r.Run.StateProgression, "%.2f%%", 100))
	p.line("  Avg latency: ", figure(r.Run.AvgLatencyMS, "%.0fms", 1))
	if r.Baseline == nil {
		return
	}
	passed, ratio := notApplicable, notApplicable
	if r.Spec != nil {
		passed, ratio = "False", figure(&r.Spec.PassedRatio, "%.2f%%", 100)
		if r.Spec.Passed {
			passed = "True"
		}
	}
	p.line()
	p.line("  Comparison with baseline:")
	p.line("    Passed: ", passed)
	p.line("    Pass ratio: ", ratio)
}

// replayAbout says what was replayed.
func (p *paint) replayAbout(r *replay.Report) {
	row := func(name, value string) {
		if value != "" {
			p.wrap(fmt.Sprintf("%-11s", name), "", value)
		}
	}
	row("Candidate", variantWords(&r.Candidate))
	if r.Baseline != nil {
		row("Baseline", variantWords(r.Baseline))
	}
	sessions := []string{text.Plural(r.Run.Sessions, "session") + " compared"}
	for _, s := range []string{outcomesOf(r), period(r.From, r.To)} {
		if s != "" {
			sessions = append(sessions, s)
		}
	}
	if r.Run.PairsDropped > 0 {
		sessions = append(sessions, text.Count(r.Run.PairsDropped)+" left out")
	}
	row("Log", strings.Join(sessions, " · "))
	mode := text.OneLine(string(r.Run.Mode), 20)
	if means := modeMeans(r.Run.Mode); means != "" {
		mode += ": " + means
	}
	row("Mode", mode)
}

// replayComparison writes the metrics that decide.
func (p *paint) replayComparison(r *replay.Report, metrics []*replay.MetricReport) {
	if len(metrics) == 0 {
		return
	}
	table := [][]string{{"Metric", "Baseline", "Candidate", "Difference [95% interval]", "Verdict", "Detectable"}}
	if r.Baseline == nil {
		table[0] = []string{"Metric", "Candidate", "95% interval"}
	}
	var meanings []string
	for _, m := range metrics {
		words := wordsOf(m.Name, r.Run.Mode)
		if words.meaning != "" {
			meanings = append(meanings, words.name+": "+words.meaning+".")
		}
		if r.Baseline == nil {
			table = append(table, []string{words.name, estimate(m.Candidate, m.Unit), estimateInterval(m.Candidate, m.Unit)})
			continue
		}
		verdict := notApplicable
		if m.Difference != nil {
			verdict = verdictPhrase(m.Difference.Verdict)
		}
		table = append(table, []string{
			words.name, estimate(m.Baseline, m.Unit), estimate(m.Candidate, m.Unit), differenceWords(m.Difference, m.Unit), verdict,
			detectable(m.Difference, m.Unit),
		})
	}
	p.line()
	p.columns(table)
	p.wrap("", "", strings.Join(meanings, " "))
	if r.Baseline != nil {
		p.wrap("", "", strings.Join(verdictMeanings(metrics), ". ")+".")
	}
}

// differenceWords are a difference with its interval.
func differenceWords(d *replay.DifferenceReport, unit replay.Unit) string {
	if d == nil {
		return notApplicable
	}
	return change(d.Mean, unit) + " " + interval(d.Low, d.High, unit)
}

// replaySupport writes the figures on support.
func (p *paint) replaySupport(r *replay.Report, groups metricGroups) {
	table := [][]string{{"On supported turns", "Baseline", "Candidate", "Difference [95% interval]", "Sessions"}}
	if r.Baseline == nil {
		table[0] = []string{"On supported turns", "Candidate", "95% interval", "Sessions"}
	}
	for _, m := range slices.Concat(groups.first, groups.more) {
		name := wordsOf(m.Name, r.Run.Mode).name
		switch c := m.CandidateOnSupport; {
		case c == nil && m.BaselineOnSupport == nil:
		case r.Baseline == nil:
			table = append(table, []string{name, estimate(c, m.Unit), estimateInterval(c, m.Unit), text.Count(c.N)})
		default:
			table = append(table, []string{
				name, estimate(m.BaselineOnSupport, m.Unit), estimate(c, m.Unit), differenceWords(m.DifferenceOnSupport, m.Unit), text.Count(sessionsOnSupport(m)),
			})
		}
	}
	if len(table) == 1 {
		return
	}
	p.line()
	p.columns(table)
	p.wrap("", "", supportedMeans+". Where these figures differ from those above, messages that answer another question are part of the reason.")
}

// sessionsOnSupport counts the sessions that have a figure on supported turns in every lane, as far as is known.
func sessionsOnSupport(m *replay.MetricReport) int {
	if m.DifferenceOnSupport != nil {
		return m.DifferenceOnSupport.N
	}
	for _, e := range []*replay.Estimate{m.CandidateOnSupport, m.BaselineOnSupport} {
		if e != nil {
			return e.N
		}
	}
	return 0
}

// replayMore writes the metrics that decide nothing.
func (p *paint) replayMore(r *replay.Report, groups metricGroups) {
	table := [][]string{{"More figures", "Baseline", "Candidate", "Difference [95% interval]", meaningColumn}}
	if r.Baseline == nil {
		table[0] = []string{"More figures", "Candidate", "95% interval", meaningColumn}
	}
	for _, m := range groups.more {
		words := wordsOf(m.Name, r.Run.Mode)
		row := []string{words.name, estimate(m.Baseline, m.Unit), estimate(m.Candidate, m.Unit), differenceWords(m.Difference, m.Unit), words.meaning}
		if r.Baseline == nil {
			row = []string{words.name, estimate(m.Candidate, m.Unit), estimateInterval(m.Candidate, m.Unit), words.meaning}
		}
		table = append(table, row)
	}
	still, times := stillWords(groups.still, r.Run.Mode), timeWords(r)
	if len(table) == 1 && still == "" && len(times) == 0 {
		return
	}
	p.line()
	if len(table) > 1 {
		p.columns(table)
	}
	p.wrap("", "", still)
	for _, said := range times {
		p.wrap("", "", said)
	}
}

func (p *paint) replayDivergences(r *replay.Report) {
	if parts := divergenceWords(r); len(parts) > 0 {
		p.line()
		p.line("Sessions by the turn in which the candidate first leaves the log's path:")
		p.wrap("  ", "", strings.Join(parts, " · "))
	}
}

func (p *paint) replayNotes(r *replay.Report) {
	if reasons, untold := dropReasons(r); len(reasons) > 0 || untold > 0 {
		p.line()
		p.line("Left out:")
		for i, d := range reasons {
			if i == maxReasons {
				p.line("  … and ", text.Plural(len(reasons)-i, "more reason"))
				break
			}
			p.wrap("  "+text.Plural(d.Sessions, "session")+": ", "", d.Text)
		}
		if untold > 0 {
			p.line("  ", text.Plural(untold, "session"), ", for reasons that are in the store")
		}
	}
	notes := readNotes(r)
	if len(notes) == 0 {
		return
	}
	p.line()
	p.line("Notes:")
	for i, n := range notes {
		if i == maxNotes {
			p.line("  … and ", text.Plural(len(notes)-i, "more note"))
			break
		}
		p.wrap("  ", "", n.line())
	}
}

// columns writes a table whose first row is its head: words to the left, figures to the right.
func (p *paint) columns(table [][]string) {
	head := table[0]
	right := func(column int) bool { return column > 0 && head[column] != "Verdict" && head[column] != meaningColumn }
	for _, line := range text.Table(table, right) {
		p.line(text.Truncate(line, p.width, "…"))
	}
}
