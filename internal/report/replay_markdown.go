package report

import (
	"fmt"
	"io"
	"strings"

	"rehearse/internal/replay"
	"rehearse/internal/stats"
)

// Limits of ReplayMarkdown, beside those of report.md.
const (
	maxSideBySide     = 5   // sessions
	maxSideBySideRows = 15  // turns of one
	maxSideBySideText = 200 // characters of one message
	maxMetrics        = 60
)

// ReplayMarkdown writes the report of a replay run for a comment on a pull request: the verdict, the metrics in a table, what was left
// out, and the sessions that differ most, as many as a comment holds.
func ReplayMarkdown(w io.Writer, r *replay.Report) error {
	b := &strings.Builder{}
	verdict := replayVerdictOf(r)
	fmt.Fprintf(b, "## %s %s\n\n", verdict.emoji(), replayHeadline(r))
	if detail := replayDetail(r); detail != "" {
		fmt.Fprintf(b, "**Found:** %s.\n\n", md(detail))
	}
	if gate := gateSentence(r); gate != "" {
		fmt.Fprintf(b, "**Gate:** %s\n\n", md(gate))
	}
	mdReplayed(b, r)
	mdMetrics(b, r)
	if parts := divergenceWords(r); len(parts) > 0 {
		fmt.Fprintf(b, "**First turn off the log’s path**, in sessions: %s\n\n", strings.Join(parts, " · "))
	}
	mdReplayNotes(b, r)
	mdSideBySide(b, r)
	fmt.Fprintf(b, "<sub>rehearse · replay run %s · %s</sub>\n", md(oneLine(r.Run.ID, 100)), md(oneLine(r.Run.DatasetVersion, 200)))
	_, err := io.WriteString(w, b.String())
	return err
}

func mdReplayed(b *strings.Builder, r *replay.Report) {
	fmt.Fprintf(b, "- Candidate %s\n", md(variantWords(&r.Candidate)))
	if r.Baseline != nil {
		fmt.Fprintf(b, "- Baseline %s\n", md(variantWords(r.Baseline)))
	}
	facts := []string{many(r.Run.Sessions, "session")}
	for _, s := range []string{outcomesOf(r), period(r.From, r.To), md(oneLine(string(r.Run.Mode), 20))} {
		if s != "" {
			facts = append(facts, s)
		}
	}
	fmt.Fprintf(b, "- %s\n\n", strings.Join(facts, " · "))
}

func mdMetrics(b *strings.Builder, r *replay.Report) {
	if len(r.Metrics) == 0 {
		return
	}
	supported, nonInferior := false, false
	cell := func(whole, supportedOnly *replay.Estimate, unit replay.Unit) string {
		s := md(estimate(whole, unit))
		if supportedOnly != nil {
			supported = true
			s += "<br><sub>" + md(estimate(supportedOnly, unit)) + " supported</sub>"
		}
		return s
	}
	if r.Baseline == nil {
		b.WriteString("| Metric | Candidate | 95% interval |\n|---|--:|--:|\n")
	} else {
		b.WriteString("| Metric | Baseline | Candidate | Difference [95% interval] | Verdict | Detectable |\n|---|--:|--:|--:|---|--:|\n")
	}
	for i := range r.Metrics[:min(len(r.Metrics), maxMetrics)] {
		m := &r.Metrics[i]
		candidate := cell(m.Candidate, m.CandidateOnSupport, m.Unit)
		name := md(wordsOf(m.Name).name)
		if r.Baseline == nil {
			fmt.Fprintf(b, "| %s | %s | %s |\n", name, candidate, md(estimateInterval(m.Candidate, m.Unit)))
			continue
		}
		difference, verdict := notApplicable, notApplicable
		if d := m.Difference; d != nil {
			difference = md(change(d.Mean, m.Unit)) + "<br>" + md(interval(d.Low, d.High, m.Unit))
			if verdict = md(verdictPhrase(d.Verdict)); m.Gated {
				verdict = "**" + verdict + "**"
			}
			nonInferior = nonInferior || d.Verdict == string(replayNonInferior)
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n", name, cell(m.Baseline, m.BaselineOnSupport, m.Unit), candidate, difference,
			verdict, md(detectable(m.Difference, m.Unit)))
	}
	b.WriteString("\n")
	var footnotes []string
	if supported || r.Run.SupportCoverage != nil {
		footnotes = append(footnotes, supportedMeans)
	}
	if c := r.Run.SupportCoverage; c != nil {
		footnotes = append(footnotes, quantity(*c, replay.Share)+" of the candidate’s turns are")
	}
	if nonInferior {
		footnotes = append(footnotes, nonInferiorMeans)
	}
	if r.Baseline != nil {
		footnotes = append(footnotes, detectableMeans, "The gate looks at the verdicts in bold")
	}
	if len(footnotes) > 0 {
		fmt.Fprintf(b, "<sub>%s.</sub>\n\n", strings.Join(footnotes, ". "))
	}
}

func mdReplayNotes(b *strings.Builder, r *replay.Report) {
	reasons, untold := dropReasons(r)
	if len(reasons) > 0 || untold > 0 {
		b.WriteString("**Left out**\n\n")
		for _, d := range reasons[:min(len(reasons), maxReasons)] {
			fmt.Fprintf(b, "- %s × %s\n", count(d.Sessions), md(d.Text))
		}
		if n := len(reasons) - maxReasons; n > 0 {
			fmt.Fprintf(b, "- … and %s\n", many(n, "more reason"))
		}
		if untold > 0 {
			fmt.Fprintf(b, "- %s more, whose reasons are in the store\n", count(untold))
		}
		b.WriteString("\n")
	}
	if len(r.Notes) == 0 {
		return
	}
	b.WriteString("**Notes**\n\n")
	for _, n := range r.Notes[:min(len(r.Notes), maxNotes)] {
		fmt.Fprintf(b, "- %s × %s\n", count(n.Count), md(oneLine(n.Text, maxNoteText)+examplesOf(n)))
	}
	if n := len(r.Notes) - maxNotes; n > 0 {
		fmt.Fprintf(b, "- … and %s\n", many(n, "more note"))
	}
	b.WriteString("\n")
}

// mdSideBySide writes the sessions that differ most.
func mdSideBySide(b *strings.Builder, r *replay.Report) {
	written := 0
	for _, p := range mostDifferent(r.Sessions) {
		if written == maxSideBySide || p.Dropped != "" || unlike(p) == 0 {
			return // what follows is less different still
		}
		block := mdSession(p)
		if b.Len()+len(block) > maxMarkdown {
			return
		}
		if written == 0 {
			b.WriteString("### The sessions that differ most\n\n")
		}
		b.WriteString(block)
		written++
	}
}

func mdSession(p *replay.Pair) string {
	b := &strings.Builder{}
	lanes := lanesOf(p)
	about := make([]string, 0, len(lanes))
	for _, l := range lanes {
		about = append(about, strings.ToLower(markup(laneWord(l.Name)))+" "+laneSummary(p, l))
	}
	fmt.Fprintf(b, "<details><summary><b>%s</b> · %s</summary>\n\n", markup(oneLine(p.SessionID, 100)), strings.Join(about, " · "))
	b.WriteString("| User |")
	for _, l := range lanes {
		fmt.Fprintf(b, " %s |", md(laneWord(l.Name)))
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(lanes)) + "\n")
	rows := rowsOf(lanes)
	for _, row := range rows[:min(len(rows), maxSideBySideRows)] {
		b.WriteString(mdRow(lanes, row))
	}
	if left := len(rows) - maxSideBySideRows; left > 0 {
		fmt.Fprintf(b, "\n… and %s.\n", many(left, "more turn"))
	}
	b.WriteString("\n</details>\n\n")
	return b.String()
}

func mdRow(lanes []*replay.Lane, row alignedRow) string {
	said, cells := "", &strings.Builder{}
	for i, l := range lanes {
		if row[i] == stats.Gap {
			cells.WriteString(" – |")
			continue
		}
		t := &l.Turns[row[i]]
		user := oneLine(t.User, maxSideBySideText)
		if t.Invented {
			user = "(simulated) " + user
		}
		fmt.Fprint(cells, " ")
		switch {
		case said == "":
			said = user
		case said != user:
			fmt.Fprintf(cells, "*%s*<br>", md("user: "+user))
		}
		state := md(oneLine(t.State, 60))
		if first := row[0]; i > 0 && first != stats.Gap && lanes[0].Turns[first].State != t.State {
			state = "**≠ " + state + "**"
		}
		fmt.Fprintf(cells, "%s<br><sub>%s", md(oneLine(t.Bot, maxSideBySideText)), state)
		if !t.Supported && i > 0 {
			cells.WriteString(" · not supported")
		}
		cells.WriteString("</sub> |")
	}
	return "| " + md(said) + " |" + cells.String() + "\n"
}

// laneSummary says how a session went in a lane.
func laneSummary(p *replay.Pair, l *replay.Lane) string {
	s := "not completed"
	switch {
	case l.Name == replay.Observed:
		s = outcomeWord(p.Outcome)
	case l.Completed:
		s = "completed"
	}
	return s + " in " + many(len(l.Turns), "turn")
}
