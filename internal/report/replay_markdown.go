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
		fmt.Fprintf(b, "**Found:** %s\n\n", md(detail))
	}
	if belief := beliefSentence(r); belief != "" {
		fmt.Fprintf(b, "**May it be believed?** %s\n\n", md(belief))
	}
	if gate := gateSentence(r); gate != "" {
		fmt.Fprintf(b, "**Gate:** %s\n\n", md(gate))
	}
	mdReplayed(b, r)
	mdMetrics(b, r)
	if parts := divergenceWords(r); len(parts) > 0 {
		fmt.Fprintf(b, "**Sessions by the turn in which the candidate first leaves the log’s path:** %s\n\n", strings.Join(parts, " · "))
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
	groups := groupsOf(r)
	if len(groups.first) > 0 {
		mdMetricTable(b, r, groups.first, true)
		footnotes := []string{}
		if r.Run.SupportCoverage != nil {
			footnotes = append(footnotes, supportedMeans)
		}
		if r.Baseline != nil {
			footnotes = append(append(footnotes, verdictMeanings(groups.first)...), "The gate looks at the verdicts in bold")
		}
		if len(footnotes) > 0 {
			fmt.Fprintf(b, "<sub>%s.</sub>\n\n", md(strings.Join(footnotes, ". ")))
		}
	}
	mdMore(b, r, groups)
}

// mdMore writes the metrics that decide nothing, folded.
func mdMore(b *strings.Builder, r *replay.Report, groups metricGroups) {
	said := timeWords(r)
	if still := stillWords(groups.still, r.Run.Mode); still != "" {
		said = append([]string{still}, said...)
	}
	if len(groups.more) == 0 && len(said) == 0 {
		return
	}
	b.WriteString("<details><summary>More figures</summary>\n\n")
	if len(groups.more) > 0 {
		mdMetricTable(b, r, groups.more, false)
	}
	if len(said) > 0 {
		fmt.Fprintf(b, "<sub>%s</sub>\n\n", md(strings.Join(said, " ")))
	}
	b.WriteString("</details>\n\n")
}

// mdMetricTable writes metrics as a table, with verdicts if any of them decides.
func mdMetricTable(b *strings.Builder, r *replay.Report, metrics []*replay.MetricReport, decides bool) {
	head, rule := "| Metric | Candidate | 95% interval |\n", "|---|--:|--:|\n"
	switch {
	case r.Baseline != nil && decides:
		head, rule = "| Metric | Baseline | Candidate | Difference [95% interval] | Verdict | Detectable |\n", "|---|--:|--:|--:|---|--:|\n"
	case r.Baseline != nil:
		head, rule = "| Metric | Baseline | Candidate | Difference [95% interval] |\n", "|---|--:|--:|--:|\n"
	}
	b.WriteString(head + rule)
	for _, m := range metrics {
		words := wordsOf(m.Name, r.Run.Mode)
		name := md(words.name)
		if words.meaning != "" {
			name += "<br><sub>" + md(words.meaning) + "</sub>"
		}
		cells := []string{name}
		if r.Baseline == nil {
			cells = append(cells, mdSupported(estimate(m.Candidate, m.Unit), m.CandidateOnSupport, m.Unit), md(estimateInterval(m.Candidate, m.Unit)))
		} else {
			cells = append(cells, mdSupported(estimate(m.Baseline, m.Unit), m.BaselineOnSupport, m.Unit),
				mdSupported(estimate(m.Candidate, m.Unit), m.CandidateOnSupport, m.Unit), mdDifference(m))
			if decides {
				cells = append(cells, mdVerdict(m), md(detectable(m.Difference, m.Unit)))
			}
		}
		fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
	}
	b.WriteString("\n")
}

// mdSupported is a figure, with the one on supported turns below it.
func mdSupported(whole string, supported *replay.Estimate, unit replay.Unit) string {
	if supported == nil {
		return md(whole)
	}
	return md(whole) + "<br><sub>supported: " + md(estimate(supported, unit)) + "</sub>"
}

func mdDifference(m *replay.MetricReport) string {
	d, on := m.Difference, m.DifferenceOnSupport
	if d == nil {
		return notApplicable
	}
	s := md(change(d.Mean, m.Unit)) + " " + md(interval(d.Low, d.High, m.Unit))
	if on != nil {
		s += "<br><sub>supported: " + md(differenceWords(on, m.Unit)) + "</sub>"
	}
	return s
}

func mdVerdict(m *replay.MetricReport) string {
	switch {
	case m.Difference == nil:
		return notApplicable
	case m.Gated:
		return "**" + md(verdictPhrase(m.Difference.Verdict)) + "**"
	}
	return md(verdictPhrase(m.Difference.Verdict))
}

func mdReplayNotes(b *strings.Builder, r *replay.Report) {
	reasons, untold := dropReasons(r)
	if len(reasons) > 0 || untold > 0 {
		b.WriteString("**Left out**\n\n")
		for _, d := range reasons[:min(len(reasons), maxReasons)] {
			fmt.Fprintf(b, "- %s: %s\n", many(d.Sessions, "session"), md(d.Text))
		}
		if n := len(reasons) - maxReasons; n > 0 {
			fmt.Fprintf(b, "- … and %s\n", many(n, "more reason"))
		}
		if untold > 0 {
			fmt.Fprintf(b, "- %s, for reasons that are in the store\n", many(untold, "session"))
		}
		b.WriteString("\n")
	}
	notes := readNotes(r)
	if len(notes) == 0 {
		return
	}
	b.WriteString("**Notes**\n\n")
	for _, n := range notes[:min(len(notes), maxNotes)] {
		fmt.Fprintf(b, "- %s\n", md(n.line()))
	}
	if n := len(notes) - maxNotes; n > 0 {
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
