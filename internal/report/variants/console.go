package variants

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/report/terminal"
)

// consoleWidth is the most that a line of Text takes.
const consoleWidth = 120

// meaningColumn is the head of a column of words.
const meaningColumn = "What it is"

// console prints the parts of a report.
type console struct{ *terminal.Printer }

// Text writes the report of a replay run as plain text: the specification's block as it is, the comparison with
// its intervals, what was left out, and last the line that names the run.
func Text(w io.Writer, r *replay.Report) error {
	p := console{terminal.New(w, consoleWidth, false)}
	if said := warning(r); said != "" {
		p.Wrap("Warning: ", "", said)
		p.Line()
	}
	if r.Gate != nil {
		p.Wrap("", "", headline(r))
	}
	p.block(r)
	p.Line()
	p.about(r)
	p.Line()
	if r.Gate == nil {
		p.Wrap("", "", headline(r)+".")
	}
	p.Wrap("", "", detail(r))
	p.Wrap("", "", unseenSentence(r))
	if belief := beliefSentence(r); belief != "" {
		p.Wrap("", "", "May it be believed? "+belief)
	}
	p.Wrap("", "", gateSentence(r))
	if r.Gate != nil {
		p.Wrap("", "", alarmWords(r))
	}
	groups := groupsOf(r)
	p.comparison(r, groups.first)
	p.support(r, groups)
	p.more(r, groups)
	p.divergences(r)
	p.parts(r, groups)
	p.notes(r)
	p.Line()
	p.Line("Evaluation completed: ", text.OneLine(r.Run.ID, 100))
	return p.Flush()
}

// block writes what S4 prints, letter by letter.
func (p console) block(r *replay.Report) {
	figure := func(v *float64, format string, scale float64) string {
		if v == nil || !finite(*v) {
			return notApplicable
		}
		return fmt.Sprintf(format, scale**v)
	}
	p.Line()
	p.Line("Conversation Replay Evaluation Results:")
	p.Line(fmt.Sprintf("  Sessions evaluated: %d", r.Run.Sessions))
	p.Line("  Completion match: ", figure(r.Run.CompletionMatch, "%.2f%%", 100))
	p.Line("  Avg turn count ratio: ", figure(r.Run.TurnCountRatio, "%.2f", 1))
	p.Line("  State progression match: ", figure(r.Run.StateProgression, "%.2f%%", 100))
	p.Line("  Avg latency: ", figure(r.Run.AvgLatencyMS, "%.0fms", 1))
	if r.Baseline == nil {
		return
	}
	passed, ratio := notApplicable, notApplicable
	if r.Spec != nil {
		passed, ratio = "False", figure(&r.Spec.PassedRatio, "%.2f%%", 100)
		if r.Spec.Passed && r.Spec.Hard { // X21
			passed = "True"
		}
	}
	p.Line()
	p.Line("  Comparison with baseline:")
	p.Line("    Passed: ", passed)
	p.Line("    Pass ratio: ", ratio)
}

// about says what was replayed.
func (p console) about(r *replay.Report) {
	row := func(name, value string) {
		if value != "" {
			p.Wrap(fmt.Sprintf("%-11s", name), "", value)
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
	row("Log", strings.Join(sessions, " · "))
	if r.Run.PairsDropped > 0 {
		row("Lost", lostWords(r)+"; "+lostNote(r))
	}
	mode := text.OneLine(string(r.Run.Mode), 20)
	if means := modeMeans(r.Run.Mode); means != "" {
		mode += ": " + means
	}
	row("Mode", mode)
}

// comparison writes the metrics that decide.
func (p console) comparison(r *replay.Report, metrics []*replay.MetricReport) {
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
			name := words.name
			if key := keyOf(m.Name); key != "" {
				name += " (" + key + ")"
			}
			meanings = append(meanings, name+": "+words.meaning+".")
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
	p.Line()
	p.columns(table)
	p.Wrap("", "", strings.Join(meanings, " "))
	if r.Baseline != nil {
		p.Wrap("", "", strings.Join(verdictMeanings(r, metrics), ". ")+".")
	}
}

// differenceWords are a difference with its interval.
func differenceWords(d *replay.DifferenceReport, unit replay.Unit) string {
	if d == nil {
		return notApplicable
	}
	return change(d.Mean, unit) + " " + intervalOf(d, unit)
}

// support writes the figures on support.
func (p console) support(r *replay.Report, groups metricGroups) {
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
	p.Line()
	p.columns(table)
	p.Wrap("", "", supportedMeans(r.Run.Mode)+". Where these figures differ from those above, messages that answer another question are part of the reason.")
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

// more writes the metrics that decide nothing.
func (p console) more(r *replay.Report, groups metricGroups) {
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
	p.Line()
	if len(table) > 1 {
		p.columns(table)
	}
	p.Wrap("", "", still)
	for _, said := range times {
		p.Wrap("", "", said)
	}
}

func (p console) divergences(r *replay.Report) {
	if parts := divergenceWords(r); len(parts) > 0 {
		p.Line()
		p.Line(divergenceLead(r.Run.Mode), ":")
		p.Wrap("  ", "", strings.Join(parts, " · "))
	}
}

func (p console) notes(r *replay.Report) {
	if reasons, untold := dropReasons(r); len(reasons) > 0 || untold > 0 {
		p.Line()
		p.Line("Left out:")
		for i, d := range reasons {
			if i == maxReasons {
				p.Line("  … and ", text.Plural(len(reasons)-i, "more reason"))
				break
			}
			p.Wrap("  "+text.Plural(d.Sessions, "session")+": ", "", d.Text)
		}
		if untold > 0 {
			p.Line("  ", text.Plural(untold, "session"), ", for reasons that are in the store")
		}
	}
	notes := readNotes(r)
	if len(notes) == 0 {
		return
	}
	p.Line()
	p.Line("Notes:")
	for i, n := range notes {
		if i == maxNotes {
			p.Line("  … and ", text.Plural(len(notes)-i, "more note"))
			break
		}
		p.Wrap("  ", "", n.line())
	}
}

// columns writes a table whose first row is its head: words to the left, figures to the right.
func (p console) columns(table [][]string) {
	head := table[0]
	right := func(column int) bool { return column > 0 && head[column] != "Verdict" && head[column] != meaningColumn }
	p.Table(table, right)
}
