package variants

import (
	"fmt"
	"io"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/report/document"
)

// consoleWidth is the most that a line of Text takes.
const consoleWidth = 120

// maxMetrics bounds the metrics of a report.
const maxMetrics = 60

// Marks tell the files of a replay's reports from other files: each of ours has the text.
func Marks() map[string][]string {
	return map[string][]string{
		"report.json": {`"evaluation_run_id":`}, "report.md": {"<sub>rehearse · replay run "},
		"report.html": {" · rehearse</title>"},
	}
}

// Text writes the report of a replay run as plain text: the outcome, the block that the specification asks for, the
// figures, and last the line that names the run.
func Text(w io.Writer, r *replay.Report) error {
	d := documentOf(r, nil, "")
	d.Verbatim = block(r)
	if err := document.Text(w, d, consoleWidth, false); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nEvaluation completed: %s\n", text.NoCommand(text.OneLine(r.Run.ID, 100)))
	return err
}

// Markdown writes the report of a replay run for a comment on a pull request, with the sessions that differ most as far
// as they fit.
func Markdown(w io.Writer, r *replay.Report) error {
	_, places := anchorsOf(shownPairs(r))
	d := documentOf(r, places, "report.html")
	d.Details = mostDifferentSideBySide(r)
	d.Signature = "rehearse · replay run " + text.OneLine(r.Run.ID, 100) + " · " + text.OneLine(r.Run.DatasetVersion,
		200)
	return document.Markdown(w, d)
}

// documentOf returns the report without its sessions; anchors are the places of the sessions that a page shows, which
// is empty for the page itself.
func documentOf(r *replay.Report, anchors map[string]string, page string) *document.Document {
	groups := groupsOf(r)
	d := &document.Document{
		Kind: "replay", ID: r.Run.ID, At: r.Run.Started, Verdict: signOfRun(r), Headline: headline(r),
		Warning: warning(r),
		About:   []document.Fact{{Name: "Candidate", Value: variantWords(&r.Candidate)}}, Rate: matchOf(r),
		Facts: factsOf(r),
		Foot:  footOf(r),
	}
	if r.Baseline != nil {
		d.About = append(d.About, document.Fact{Name: "Baseline", Value: variantWords(r.Baseline)})
	}
	decision := decisionOf(r)
	if decision.Word != d.Headline {
		d.Answer = decision.Word
	}
	for _, why := range decision.Why {
		d.Lead = append(d.Lead, document.Fact{Value: why})
	}
	if unjudged(r) {
		d.Lead = append(d.Lead, document.Fact{Name: "What could be compared", Value: replay.Unjudged + "."})
	}
	d.Lead = append(d.Lead, document.Fact{Name: "What could have gone unseen", Value: decision.Unseen})
	if r.Gate != nil && len(r.Gate.Reasons) > 0 { // else it is among the reasons
		d.Lead = append(d.Lead, document.Fact{Name: "Found", Value: detail(r)})
	}
	d.Lead = append(d.Lead, document.Fact{Name: "May it be believed?", Value: reliability(r)})
	d.Sections = []document.Section{
		gateSection(r), metricsSection(r, groups), supportSection(r, groups), endsSection(r), funnelSection(r),
		assertionsSection(r, anchors, page), listsSection(r, anchors, page),
		slicesSection(r), repliesSection(r), repeatsSection(r, groups), fidelitySection(r), clustersSection(r, groups),
		divergenceSection(r),
		moreSection(r, groups), notesSection(r),
	}
	return d
}

// block returns the lines that the specification asks for, letter by letter.
func block(r *replay.Report) string {
	var b strings.Builder
	figure := func(v *float64, format string, scale float64) string {
		if v == nil || !finite(*v) {
			return notApplicable
		}
		return fmt.Sprintf(format, scale**v)
	}
	fmt.Fprintf(&b, "\nConversation Replay Evaluation Results:\n  Sessions evaluated: %d\n", r.Run.Sessions)
	fmt.Fprintf(&b, "  Completion match: %s\n", figure(r.Run.CompletionMatch, "%.2f%%", 100))
	if n, bounds := censoredMatch(r); n > 0 {
		fmt.Fprintf(&b, "  Censored: %d (completion match between %.2f%% and %.2f%%)\n", n, 100*bounds[0],
			100*bounds[1])
	}
	fmt.Fprintf(&b, "  Avg turn count ratio: %s\n", figure(r.Run.TurnCountRatio, "%.2f", 1))
	fmt.Fprintf(&b, "  State progression match: %s\n", figure(r.Run.StateProgression, "%.2f%%", 100))
	fmt.Fprintf(&b, "  Avg latency: %s\n", figure(r.Run.AvgLatencyMS, "%.0fms", 1))
	if r.Baseline == nil {
		return b.String()
	}
	passed, ratio := notApplicable, notApplicable
	if r.Spec != nil {
		passed, ratio = "False", figure(&r.Spec.PassedRatio, "%.2f%%", 100)
		if r.Spec.Passed && r.Spec.Hard {
			passed = "True"
		}
	}
	fmt.Fprintf(&b, "\n  Comparison with baseline:\n    Passed: %s\n    Pass ratio: %s\n", passed, ratio)
	return b.String()
}

// matchOf is the candidate's completion match; nil where it is not known.
func matchOf(r *replay.Report) *document.Rate {
	rate := &document.Rate{Fact: document.Fact{Name: "completion match"}}
	m := metricOf(r, replay.CompletionMatch)
	if m == nil || m.Candidate == nil {
		if r.Run.CompletionMatch == nil {
			return nil
		}
		rate.Value, rate.Note = quantity(*r.Run.CompletionMatch, replay.Share), "of sessions ended as in the log"
		return rate
	}
	e := m.Candidate
	rate.Value = estimate(e, m.Unit)
	notes := []string{"of " + text.Plural(e.N, "session") + " ended as in the log"}
	if e.Low != nil && e.High != nil && finite(*e.Low) && finite(*e.High) {
		bounds := [2]float64{*e.Low, *e.High}
		rate.Bar = new(document.BarOf(e.Value, bounds))
		notes = append(notes, "95% interval "+text.PercentRange(bounds))
	}
	if n, bounds := censoredMatch(r); n > 0 {
		notes = append(notes, text.Plural(n, "censored session")+plural(n, " is", " are")+
			" not among them: with "+plural(n, "it", "them")+" between "+text.PercentRange(bounds))
	}
	if n := lostPairs(r); n > 0 {
		notes = append(notes, text.Plural(n, "lost pair")+plural(n, " is", " are")+" not among them")
	}
	if m.Baseline != nil {
		notes = append(notes, "the baseline: "+estimate(m.Baseline, m.Unit))
	}
	rate.Note = strings.Join(notes, "; ")
	return rate
}

// censoredMatch returns how many of the candidate's sessions are censored, and its completion match if none of them,
// and if all of them, had completed.
func censoredMatch(r *replay.Report) (n int, bounds [2]float64) {
	m := metricOf(r, replay.CompletionMatch)
	n = r.Outcomes[replay.Candidate].CompletedCensored
	if n == 0 || m == nil {
		return 0, bounds
	}
	matched, known := 0.0, 0
	if m.Candidate != nil {
		matched, known = m.Candidate.Value*float64(m.Candidate.N), m.Candidate.N
	}
	all := float64(known + n)
	return n, [2]float64{matched / all, (matched + float64(n)) / all}
}

func factsOf(r *replay.Report) []document.Fact {
	facts := []document.Fact{
		{Name: "sessions", Value: text.Count(r.Run.Sessions), Note: outcomesOf(r)},
		{Name: "days", Value: period(r.From, r.To)},
		{Name: "mode", Value: text.OneLine(string(r.Run.Mode), 20), Note: modeMeans(r.Run.Mode)},
	}
	if c := r.Run.SupportCoverage; c != nil {
		note := "of the logged turns are supported in the candidate"
		if r.Run.Mode == replay.Forced {
			note = "of the logged turns, by the candidate"
		}
		facts = append(facts, document.Fact{Name: metricLabel(replay.SupportCoverage, r.Run.Mode), Value: quantity(*c,
			replay.Share), Note: note})
	}
	if r.Run.PairsDropped > 0 {
		facts = append(facts, document.Fact{Name: "lost pairs", Value: lostWords(r), Note: lostNote(r)})
	}
	return facts
}

// lostNote says what became of the lost pairs, and what completion match would be if the candidate had lost each of
// them.
func lostNote(r *replay.Report) string {
	note := "a lane failed; left out of the metrics"
	if m := metricOf(r, replay.CompletionMatch); m != nil && m.Difference != nil && m.Difference.WorstCase != nil {
		note += ". At worst completion match differs by " + change(*m.Difference.WorstCase, m.Unit)
	}
	return note
}

func footOf(r *replay.Report) []document.Fact {
	status, first, ended := text.OneLine(string(r.Run.Status), 40), "there was no baseline", "not yet, or broken off"
	if r.Run.Error != "" {
		status += ": " + text.OneLine(r.Run.Error, 300)
	}
	if r.Baseline != nil {
		first = fmt.Sprintf("the baseline in %s, the candidate in %s replays",
			text.Count(r.VariantOrder.BaselineFirst), text.Count(r.VariantOrder.CandidateFirst))
	}
	if !r.Run.Ended.IsZero() {
		ended = r.Run.Ended.UTC().Format("2 January 2006, 15:04:05 UTC")
	}
	took := ""
	if ms := r.Run.Ended.Sub(r.Run.Started).Milliseconds(); !r.Run.Ended.IsZero() && !r.Run.Started.IsZero() &&
		ms >= 0 {
		took = text.Milliseconds(float64(ms))
	}
	return []document.Fact{
		{Name: "flow", Value: text.OneLine(r.Run.FlowID, 120)}, {Name: "data set",
			Value: text.OneLine(r.Run.DatasetVersion, 200)},
		{Name: "status", Value: status}, {Name: "went first", Value: first}, {Name: "ended", Value: ended},
		{Name: "duration", Value: took},
	}
}
