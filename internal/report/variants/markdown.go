package variants

import (
	"fmt"
	"io"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// Limits of Markdown, beside those of report.md.
const (
	maxSideBySide     = 5   // sessions
	maxSideBySideRows = 15  // turns of one
	maxSideBySideText = 200 // characters of one message
	maxMetrics        = 60
	mdReserve         = 1_500 // bytes of what must stand at the end
)

// Marks tell the files of a replay's reports from files of somebody else: each of ours holds the text.
func Marks() map[string][]string {
	return map[string][]string{"report.json": {`"evaluation_run_id":`}, "report.md": {"<sub>rehearse · replay run "}, "report.html": {" · rehearse</title>"}}
}

// Markdown writes the report of a replay run for a comment on a pull request: the verdict, the metrics in a table, what was left
// out, and the sessions that differ most, as many as a comment holds.
func Markdown(w io.Writer, r *replay.Report) error {
	b := &strings.Builder{}
	if said := warning(r); said != "" {
		fmt.Fprintf(b, "> ⚠️ **Warning:** %s\n\n", text.Markdown(said))
	}
	fmt.Fprintf(b, "## %s %s\n\n", emojiOf(r), text.Markdown(headline(r)))
	if d := decisionOf(r); r.Gate != nil {
		fmt.Fprintf(b, "**%s.** %s\n\n", text.Markdown(d.Word), text.Markdown(strings.Join(append(d.Why, nonEmpty(d.Unseen)...), " ")))
	}
	if detail := detail(r); detail != "" && (r.Gate == nil || len(r.Gate.Reasons) > 0) { // else it has been said
		fmt.Fprintf(b, "**Found:** %s\n\n", text.Markdown(detail))
	}
	if belief := beliefSentence(r); belief != "" {
		fmt.Fprintf(b, "**May it be believed?** %s\n\n", text.Markdown(belief))
	}
	mdAbout(b, r)
	var left []string
	for _, part := range []struct {
		name  string
		write func(*strings.Builder, *replay.Report)
	}{
		{"gate", mdGate},
		{"metrics", mdMetrics},
		{"ends", mdEnds},
		{"from log to figures", mdFunnel},
		{"sessions to look at", mdLists},
		{"more figures", mdMore},
		{"slices", mdSliced},
		{"repeats", mdRepeats},
		{"simulated user", mdFidelity},
		{"clusters", mdClusters},
		{"divergences", mdDivergences},
		{"notes", mdNotes},
	} {
		block := &strings.Builder{}
		if part.write(block, r); b.Len()+block.Len() > text.MaxComment-mdReserve {
			left = append(left, part.name)
			continue
		}
		b.WriteString(block.String())
	}
	if len(left) > 0 {
		fmt.Fprintf(b, "Not here, as a comment holds no more: %s. The other reports have them.\n\n", strings.Join(left, ", "))
	}
	mdSideBySide(b, r)
	fmt.Fprintf(b, "<sub>rehearse · replay run %s · %s</sub>\n", text.Markdown(text.OneLine(r.Run.ID, 100)), text.Markdown(text.OneLine(r.Run.DatasetVersion, 200)))
	_, err := io.WriteString(w, b.String())
	return err
}

func mdAbout(b *strings.Builder, r *replay.Report) {
	fmt.Fprintf(b, "- Candidate %s\n", text.Markdown(variantWords(&r.Candidate)))
	if r.Baseline != nil {
		fmt.Fprintf(b, "- Baseline %s\n", text.Markdown(variantWords(r.Baseline)))
	}
	facts := []string{text.Plural(r.Run.Sessions, "session")}
	for _, s := range []string{outcomesOf(r), period(r.From, r.To), text.Markdown(text.OneLine(string(r.Run.Mode), 20))} {
		if s != "" {
			facts = append(facts, s)
		}
	}
	fmt.Fprintf(b, "- %s\n", strings.Join(facts, " · "))
	if r.Run.PairsDropped > 0 {
		fmt.Fprintf(b, "- %s; %s\n", text.Markdown(lostWords(r)), text.Markdown(lostNote(r)))
	}
	b.WriteString("\n")
}

func mdMetrics(b *strings.Builder, r *replay.Report) {
	groups := groupsOf(r)
	if len(groups.first) > 0 {
		mdMetricTable(b, r, groups.first, true)
		footnotes := []string{}
		if r.Run.SupportCoverage != nil {
			footnotes = append(footnotes, supportedMeans(r.Run.Mode))
		}
		if r.Baseline != nil {
			footnotes = append(append(footnotes, verdictMeanings(r, groups.first)...), "The gate looks at the verdicts in bold")
		}
		if len(footnotes) > 0 {
			fmt.Fprintf(b, "<sub>%s.</sub>\n\n", text.Markdown(strings.Join(footnotes, ". ")))
		}
	}
}

// mdMore writes the metrics that decide nothing, folded.
func mdMore(b *strings.Builder, r *replay.Report) {
	groups := groupsOf(r)
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
		fmt.Fprintf(b, "<sub>%s</sub>\n\n", text.Markdown(strings.Join(said, " ")))
	}
	b.WriteString("</details>\n\n")
}

func mdDivergences(b *strings.Builder, r *replay.Report) {
	if parts := divergenceWords(r); len(parts) > 0 {
		fmt.Fprintf(b, "**%s:** %s\n\n", divergenceLead(r.Run.Mode), strings.Join(parts, " · "))
	}
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
		name := text.Markdown(words.name)
		if words.meaning != "" {
			name += "<br><sub>" + text.Markdown(words.meaning) + "</sub>"
		}
		if key := keyOf(m.Name); key != "" && decides {
			name += "<br><sub>`" + key + "`</sub>"
		}
		cells := []string{name}
		if r.Baseline == nil {
			cells = append(cells, mdSupported(estimate(m.Candidate, m.Unit), m.CandidateOnSupport, m.Unit), text.Markdown(estimateInterval(m.Candidate, m.Unit)))
		} else {
			cells = append(cells, mdSupported(estimate(m.Baseline, m.Unit), m.BaselineOnSupport, m.Unit),
				mdSupported(estimate(m.Candidate, m.Unit), m.CandidateOnSupport, m.Unit), mdDifference(m))
			if decides {
				cells = append(cells, mdVerdict(m), text.Markdown(detectable(m.Difference, m.Unit)))
			}
		}
		fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
	}
	b.WriteString("\n")
}

// mdSupported is a figure, with the one on supported turns below it.
func mdSupported(whole string, supported *replay.Estimate, unit replay.Unit) string {
	if supported == nil {
		return text.Markdown(whole)
	}
	return text.Markdown(whole) + "<br><sub>supported: " + text.Markdown(estimate(supported, unit)) + "</sub>"
}

func mdDifference(m *replay.MetricReport) string {
	d, on := m.Difference, m.DifferenceOnSupport
	if d == nil {
		return notApplicable
	}
	s := text.Markdown(change(d.Mean, m.Unit)) + " " + text.Markdown(intervalOf(d, m.Unit))
	if on != nil {
		s += "<br><sub>supported: " + text.Markdown(differenceWords(on, m.Unit)) + "</sub>"
	}
	return s
}

func mdVerdict(m *replay.MetricReport) string {
	switch {
	case m.Difference == nil:
		return notApplicable
	case m.Gated || m.Guard:
		return "**" + text.Markdown(verdictPhrase(m.Difference.Verdict)) + "**"
	}
	return text.Markdown(verdictPhrase(m.Difference.Verdict))
}

func mdNotes(b *strings.Builder, r *replay.Report) {
	reasons, untold := dropReasons(r)
	if len(reasons) > 0 || untold > 0 {
		b.WriteString("**Left out**\n\n")
		for _, d := range reasons[:min(len(reasons), maxReasons)] {
			fmt.Fprintf(b, "- %s: %s\n", text.Plural(d.Sessions, "session"), text.Markdown(d.Text))
		}
		if n := len(reasons) - maxReasons; n > 0 {
			fmt.Fprintf(b, "- … and %s\n", text.Plural(n, "more reason"))
		}
		if untold > 0 {
			fmt.Fprintf(b, "- %s, for reasons that are in the store\n", text.Plural(untold, "session"))
		}
		b.WriteString("\n")
	}
	notes := readNotes(r)
	if len(notes) == 0 {
		return
	}
	b.WriteString("**Notes**\n\n")
	for _, n := range notes[:min(len(notes), maxNotes)] {
		fmt.Fprintf(b, "- %s\n", text.Markdown(n.line()))
	}
	if n := len(notes) - maxNotes; n > 0 {
		fmt.Fprintf(b, "- … and %s\n", text.Plural(n, "more note"))
	}
	b.WriteString("\n")
}
