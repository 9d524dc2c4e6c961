package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/report/document"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// TextOptions says how Text writes. The zero value is plain text of 80 columns.
type TextOptions struct {
	// Colour uses ANSI escapes; those of the texts themselves are never let through.
	Colour bool
	// Verbose lists every test and explains every failing one, Quiet writes the totals only. Quiet wins.
	Verbose, Quiet bool
	// Simulated also shows conversations with a simulated user, where every test is listed.
	Simulated bool
	// Width is the terminal's; 0 means 80.
	Width int
	// Dir is the folder of the results, to be named at the end. It may be empty.
	Dir string
	// Page is the address or path of report.html, to which failing tests lead; empty where there is none.
	Page string
}

// Text writes the report for a terminal: a block per failing test, then the totals.
func (r *Report) Text(w io.Writer, o TextOptions) error {
	run, s, err := r.summary()
	if err != nil {
		return err
	}
	d := r.document(run, s, o.Dir, o.Quiet)
	if !o.Quiet {
		r.explainOnTerminal(d, run, s, o)
	}
	return document.Text(w, d, o.Width, o.Colour)
}

// Markdown writes the report for a comment on a pull request: the verdict, a table of tests with the failing ones
// first, and what went wrong in each of those, as much as a comment has room for. It counts what it leaves out.
func (r *Report) Markdown(w io.Writer) error {
	run, s, err := r.summary()
	if err != nil {
		return err
	}
	d := r.document(run, s, "", false)
	d.Sections = append(d.Sections, r.testTable(run, s))
	r.explainInMarkdown(d, run, s)
	d.Signature = fmt.Sprintf("rehearse %s · run %s · %s", text.OneLine(run.Version, 100), text.OneLine(run.ID, 100),
		text.Milliseconds(run.DurationMS))
	return document.Markdown(w, d)
}

// document returns the report of a run without its tests. Brief leaves out lists of single tests.
func (r *Report) document(run result.Run, s *survey, dir string, brief bool) *document.Document {
	d := &document.Document{
		Kind: "run", ID: run.ID, At: run.StartedAt, Verdict: verdict(run), Headline: headline(run),
		Unfinished: run.Stopped(),
		Counts:     countsOf(run.Totals), Facts: factsOf(run, dir), Foot: footOf(run),
	}
	if rate := RateOf(run.Totals, run.PassRate); rate.Value != "" {
		d.Rate = &document.Rate{Fact: document.Fact{Name: "pass rate", Value: rate.Value, Note: rate.Note},
			Bar: barOf(run.PassRate)}
	}
	if rule := ruleOfThree(run); rule != "" {
		d.Lead = []document.Fact{{Value: rule}}
	}
	d.Sections = []document.Section{
		{ID: "trials", Title: "Trials", Nav: "Trials", Notes: trialsWords(run)},
		{ID: "tags", Title: "Tags", Nav: "Tags", Tables: []document.Table{tagTable(run.ByTag)}},
		{ID: "codes", Title: "What went wrong", Nav: "What went wrong",
			Tables: []document.Table{codeTable(run.Totals)}},
		{ID: "quarantine", Title: "Quarantine", Nav: "Quarantine", Lists: []document.List{quarantined(run, s)}},
	}
	if run.Comparison != nil {
		d.Sections = append(d.Sections, comparisonSection(run.Comparison, gate(run), brief))
	}
	d.Sections = append(d.Sections, targetSections(run, s, brief)...)
	return d
}

// codeTable counts the failure codes, the most frequent first.
func codeTable(t result.Totals) document.Table {
	table := document.Table{Columns: document.Columns(1, "Code", "Count")}
	most := 0
	for _, n := range t.Failures {
		most = max(most, n)
	}
	codes := slices.DeleteFunc(slices.Clone(result.Codes), func(c result.Code) bool { return t.Failures[c] == 0 })
	slices.SortStableFunc(codes, func(a, b result.Code) int { return t.Failures[b] - t.Failures[a] })
	for _, code := range codes {
		n := t.Failures[code]
		bar := document.BarOf(float64(n)/float64(most), [2]float64{0, float64(n) / float64(most)})
		table.Rows = append(table.Rows, document.Row{Cells: []document.Cell{
			{Text: string(code), Code: true, Note: meaning(code)}, {Text: text.Count(n), Bar: &bar},
		}})
	}
	return table
}

// testTable has a row for each test, the failing ones first.
func (r *Report) testTable(run result.Run, s *survey) document.Section {
	t := document.Table{
		Columns: []document.Column{{}, {Name: "Test"}, {Name: "Score"}, {Name: "Failure"}, {Name: "Time",
			Number: true}},
		Noun: "test", Elsewhere: ", not listed here: see report.html or " + runlog.LogFile,
	}
	for _, e := range slices.Concat(s.failing, s.others) {
		name := document.Cell{Text: text.OneLine(e.test, 200), Note: e.from()}
		if review := e.reviewed(); review != "" {
			name.Note = strings.TrimPrefix(name.Note+" · "+review, " · ")
		}
		if e.failing() {
			name.Link = r.link(e.spot)
		}
		scored, took := document.Cell{Text: scoreWords(e.score, e.graded)}, ""
		if !e.verdict.Graded() {
			scored.Text = word(e)
		}
		if e.trials != nil {
			scored.Note = fmt.Sprintf("%d of %s%s", e.trials.Passed, text.Plural(e.trials.Count, "trial"),
				trialsNotRun(e.trials))
		}
		if e.durationMS > 0 {
			took = text.Milliseconds(e.durationMS)
		}
		sign := document.Cell{Verdict: e.verdict}
		if e.quarantined != nil {
			sign.Text = "🔒"
		}
		codes := strings.ReplaceAll(codeWords(e.codes), " ", ", ")
		t.Rows = append(t.Rows, document.Row{Cells: []document.Cell{
			sign, name, scored, {Text: cmp.Or(e.checks, codes, text.OneLine(e.reason, maxSentence)), Note: e.cut},
			{Text: took},
		}})
	}
	t.Left = max(run.Totals.Tests+run.Totals.NotRun-len(t.Rows), 0)
	return document.Section{ID: "tests", Title: "Tests", Tables: []document.Table{t}}
}

// footOf says how a run came about.
func footOf(run result.Run) []document.Fact {
	ended := "not yet, or interrupted"
	if !run.EndedAt.IsZero() {
		ended = run.EndedAt.UTC().Format("2 January 2006, 15:04:05 UTC")
	}
	exit := run.ExitReason
	if exit != "" && run.ExitCode != nil {
		exit += fmt.Sprintf(" (%d)", *run.ExitCode)
	}
	if exit != "" && run.ExitMessage != "" {
		exit += ": " + run.ExitMessage
	}
	command := ""
	if len(run.Command) > 0 {
		command = "rehearse " + strings.Join(run.Command, " ")
	}
	return []document.Fact{
		{Name: "command", Value: command}, {Name: "version", Value: run.Version}, {Name: "ended", Value: ended},
		{Name: "exit", Value: exit},
	}
}
