package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/mattn/go-runewidth"

	"rehearse/internal/replay"
)

// consoleWidth is the most that a line of ReplayConsole takes.
const consoleWidth = 120

// ReplayConsole writes the report of a replay run as plain text: the specification's block as it is (S4.36), the comparison with
// its intervals, what was left out, and last the line that names the run.
func ReplayConsole(w io.Writer, r *replay.Report) error {
	p := &paint{Writer: bufio.NewWriter(w), width: consoleWidth, cells: &runewidth.Condition{StrictEmojiNeutral: true}}
	p.replayBlock(r)
	p.line()
	p.replayAbout(r)
	p.line()
	p.wrap("", "", replaySentence(r))
	if gate := gateSentence(r); gate != "" {
		p.wrap("", "", gate)
	}
	p.replayComparison(r)
	p.replaySupport(r)
	p.replayDivergences(r)
	p.replayNotes(r)
	p.line()
	p.line("Evaluation completed: ", oneLine(r.Run.ID, 100))
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
	sessions := []string{many(r.Run.Sessions, "session") + " compared"}
	for _, s := range []string{outcomesOf(r), period(r.From, r.To)} {
		if s != "" {
			sessions = append(sessions, s)
		}
	}
	if r.Run.PairsDropped > 0 {
		sessions = append(sessions, count(r.Run.PairsDropped)+" left out")
	}
	row("Log", strings.Join(sessions, " · "))
	mode := oneLine(string(r.Run.Mode), 20)
	if means := modeMeans(r.Run.Mode); means != "" {
		mode += ": " + means
	}
	row("Mode", mode)
}

func (p *paint) replayComparison(r *replay.Report) {
	if len(r.Metrics) == 0 {
		return
	}
	table := [][]string{{"Metric", "Baseline", "Candidate", "Difference [95% interval]", "Verdict", "Detectable"}}
	if r.Baseline == nil {
		table[0] = []string{"Metric", "Candidate", "95% interval"}
	}
	nonInferior := false
	for i := range r.Metrics {
		m := &r.Metrics[i]
		name := wordsOf(m.Name).name
		if r.Baseline == nil {
			table = append(table, []string{name, estimate(m.Candidate, m.Unit), estimateInterval(m.Candidate, m.Unit)})
			continue
		}
		difference, verdict := notApplicable, notApplicable
		if d := m.Difference; d != nil {
			difference = change(d.Mean, m.Unit) + " " + interval(d.Low, d.High, m.Unit)
			verdict = verdictPhrase(d.Verdict)
			nonInferior = nonInferior || d.Verdict == string(replayNonInferior)
		}
		table = append(table, []string{
			name, estimate(m.Baseline, m.Unit), estimate(m.Candidate, m.Unit), difference, verdict, detectable(m.Difference, m.Unit),
		})
	}
	p.line()
	p.columns(table)
	if r.Baseline == nil {
		return
	}
	p.wrap("", "", detectableMeans+".")
	if nonInferior {
		p.wrap("", "", nonInferiorMeans+".")
	}
}

// replaySupport writes the figures on support beside those over whole sessions.
func (p *paint) replaySupport(r *replay.Report) {
	var table [][]string
	for i := range r.Metrics {
		m := &r.Metrics[i]
		switch {
		case m.CandidateOnSupport == nil && m.BaselineOnSupport == nil:
			continue
		case r.Baseline == nil:
			table = append(table, []string{wordsOf(m.Name).name, estimate(m.Candidate, m.Unit), estimate(m.CandidateOnSupport, m.Unit)})
		default:
			table = append(table, []string{
				wordsOf(m.Name).name, estimate(m.Baseline, m.Unit), estimate(m.BaselineOnSupport, m.Unit),
				estimate(m.Candidate, m.Unit), estimate(m.CandidateOnSupport, m.Unit),
			})
		}
	}
	if len(table) == 0 && r.Run.SupportCoverage == nil {
		return
	}
	p.line()
	said := "Supported turns."
	if c := r.Run.SupportCoverage; c != nil {
		said = "Supported turns: " + quantity(*c, replay.Share) + "."
	}
	p.wrap("", "", said+" "+supportedMeans+". A gap between the figures on them and the raw ones comes from messages that answer another question.")
	if len(table) == 0 {
		return
	}
	head := []string{"Metric", "Baseline", "on support", "Candidate", "on support"}
	if r.Baseline == nil {
		head = []string{"Metric", "Candidate", "on support"}
	}
	p.columns(append([][]string{head}, table...))
}

func (p *paint) replayDivergences(r *replay.Report) {
	if parts := divergenceWords(r); len(parts) > 0 {
		p.line()
		p.wrap("First turn off the log's path: ", "", strings.Join(parts, " · "))
	}
}

func (p *paint) replayNotes(r *replay.Report) {
	if reasons, untold := dropReasons(r); len(reasons) > 0 || untold > 0 {
		p.line()
		p.line("Left out:")
		for i, d := range reasons {
			if i == maxReasons {
				p.line("  … and ", many(len(reasons)-i, "more reason"))
				break
			}
			p.wrap("  "+count(d.Sessions)+" × ", "", d.Text)
		}
		if untold > 0 {
			p.line("  ", count(untold), " more, whose reasons are in the store")
		}
	}
	if len(r.Notes) == 0 {
		return
	}
	p.line()
	p.line("Notes:")
	for i, n := range r.Notes {
		if i == maxNotes {
			p.line("  … and ", many(len(r.Notes)-i, "more note"))
			break
		}
		p.wrap("  "+count(n.Count)+" × ", "", oneLine(n.Text, maxNoteText)+examplesOf(n))
	}
}

// examplesOf names what a note is about.
func examplesOf(n replay.Note) string {
	if len(n.Examples) == 0 {
		return ""
	}
	var names []string
	for _, e := range n.Examples[:min(len(n.Examples), maxExamples)] {
		names = append(names, oneLine(e, 80))
	}
	return " (" + strings.Join(names, ", ") + ")"
}

// estimateInterval writes the interval of a mean, its unit once.
func estimateInterval(e *replay.Estimate, unit replay.Unit) string {
	if e == nil {
		return ""
	}
	if e.Low == nil && e.High == nil {
		return "unknown"
	}
	from, to := "−∞", "∞"
	if e.Low != nil {
		from = quantity(*e.Low, unit)
	}
	if e.High != nil {
		to = quantity(*e.High, unit)
	}
	end := suffix(unit)
	if end != "" && strings.HasSuffix(to, end) {
		from = strings.TrimSuffix(from, end)
	}
	return from + " to " + to
}

// columns writes a table whose first row is its head: words to the left, figures to the right.
func (p *paint) columns(table [][]string) {
	widths := make([]int, len(table[0]))
	for _, row := range table {
		for i, cell := range row {
			widths[i] = max(widths[i], p.cells.StringWidth(cell))
		}
	}
	for _, row := range table {
		var line strings.Builder
		for i, cell := range row {
			gap := strings.Repeat(" ", widths[i]-p.cells.StringWidth(cell))
			switch figures := i > 0 && table[0][i] != "Verdict"; {
			case i == 0:
				line.WriteString(cell + gap)
			case figures:
				line.WriteString("  " + gap + cell)
			default:
				line.WriteString("  " + cell + gap)
			}
		}
		p.line(p.cells.Truncate(strings.TrimRight(line.String(), " "), p.width, "…"))
	}
}
