// Package calibration writes the report of a judge's calibration.
package calibration

import (
	"fmt"
	"io"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/eval/judge/calibration"
	"github.com/rehearse-dev/rehearse/internal/report/document"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// textWidth is the most that a line of Text takes.
const textWidth = 120

// Text writes the report for a terminal.
func Text(w io.Writer, r *calibration.Report) error {
	return document.Text(w, Document(r), textWidth, false)
}

// Markdown writes the report for a pull request.
func Markdown(w io.Writer, r *calibration.Report) error { return document.Markdown(w, Document(r)) }

// Document returns the report. An unknown figure is "unknown", never 0.
func Document(r *calibration.Report) *document.Document {
	d := &document.Document{
		Kind: "calibration", Verdict: verdictOf(r), Headline: headline(r), Facts: facts(r),
		Signature: "rehearse · calibration",
		Sections: []document.Section{
			section("confusion", "People and judge", confusion(r)),
		},
	}
	d.About = []document.Fact{{
		Name: "judge", Value: text.OneLine(r.Judge, 200),
		Note: fmt.Sprintf("on %s with %s%s, %s; 95%% intervals below",
			text.Plural(r.Items, "answer"), text.Plural(r.Labels, "label"),
			by(r.Annotators), text.OneLine(r.File, 200)),
	}}
	if r.NotJudged > 0 {
		d.Unfinished = true
		d.Warning = "stopped: " + text.Plural(r.NotJudged, "answer") + " not judged"
	}
	if len(r.Criteria) > 1 {
		t := figuresTable("Criterion")
		for _, c := range r.Criteria {
			t.Rows = append(t.Rows, row(c.Criterion, &c.Figures))
		}
		d.Sections = append(d.Sections, section("criteria", "Criteria", t))
	}
	if len(r.Models) > 0 {
		t := figuresTable("Model")
		for _, m := range r.Models {
			t.Rows = append(t.Rows, row(m.Model, &m.Figures))
		}
		d.Sections = append(d.Sections, section("models", "Models", t))
	}
	for _, of := range []struct {
		id, title string
		verdict   result.Verdict
		cases     []calibration.Case
	}{
		{"disagreements", "The judge differs from people", result.Fail, r.Disagreements},
		{"undecided", "The judge could not decide", result.Error, r.UndecidedItems},
	} {
		if len(of.cases) > 0 {
			l := document.List{Title: of.title, Count: text.Count(len(of.cases)), Elsewhere: ": --format json has all"}
			for _, c := range of.cases {
				l.Entries = append(l.Entries, entry(c, of.verdict))
			}
			d.Sections = append(d.Sections, document.Section{ID: of.id, Title: "Answers", Lists: []document.List{l}})
		}
	}
	d.Sections = append(d.Sections, document.Section{ID: "notes", Title: "Notes", Notes: notes(r)})
	return d
}

func section(id, title string, t document.Table) document.Section {
	return document.Section{ID: id, Title: title, Tables: []document.Table{t}}
}

func by(annotators int) string {
	if annotators == 0 {
		return ""
	}
	return fmt.Sprintf(" by %d named", annotators)
}

// verdictOf is the verdict of the exit code.
func verdictOf(r *calibration.Report) result.Verdict {
	switch r.Exit() {
	case result.ExitPassed:
		return result.Pass
	case result.ExitFailed:
		return result.Fail
	}
	return result.Error
}

// headline is the outcome of the gate.
func headline(r *calibration.Report) string {
	var least []string
	if r.Gate.MinKappa != nil {
		least = append(least, fmt.Sprintf("κ ≥ %g", *r.Gate.MinKappa))
	}
	if r.Gate.MinAccuracy != nil {
		least = append(least, fmt.Sprintf("accuracy ≥ %g", *r.Gate.MinAccuracy))
	}
	gate, reasons := "gate ("+strings.Join(least, ", ")+"): ", strings.Join(r.Gate.Reasons, "; ")
	if len(least) == 0 {
		gate = "no gate: "
	}
	open := ""
	switch {
	case r.NotJudged > 0:
		open = "open: the calibration was stopped"
	case len(r.UndecidedItems) > 0:
		open = "open: the judge could not decide " + text.Plural(len(r.UndecidedItems), "answer")
	}
	switch {
	case open != "" && !r.Gate.Met:
		return gate + open + "; missed so far: " + reasons
	case open != "":
		return gate + open
	case !r.Gate.Met && len(least) == 0:
		return gate + "cannot decide: " + reasons
	case !r.Gate.Met:
		return gate + "missed: " + reasons
	case len(least) == 0:
		return "no gate"
	}
	return gate + "met"
}

// facts are the figures over all criteria, with their 95% intervals.
func facts(r *calibration.Report) []document.Fact {
	facts := []document.Fact{
		{Name: "accuracy", Value: share(r.Accuracy, r.Agreed, r.N), Note: rates(r.AccuracyInterval)},
		{Name: "Cohen's κ", Value: figure(r.Kappa), Note: interval(r.KappaInterval)},
		{Name: "Krippendorff's α", Value: figure(r.Alpha), Note: interval(r.AlphaInterval)},
	}
	add := func(name, value, note string) {
		facts = append(facts, document.Fact{Name: name, Value: value, Note: note})
	}
	if p := r.Pairs; p != nil {
		add("weighted κ (a tie is half)", figure(p.WeightedKappa), interval(p.WeightedKappaInterval))
	} else {
		pass, fail := r.FalsePass, r.FalseFail
		add("judge passes what people failed", share(pass.Rate, pass.Count, pass.Of), rates(pass.Interval))
		add("judge fails what people passed", share(fail.Rate, fail.Count, fail.Of), rates(fail.Interval))
	}
	if s := r.Swap; s != nil {
		add("same with the answers swapped", share(s.Rate, s.Consistent, s.N), rates(s.Interval))
		add("always the first, the second", fmt.Sprintf("%d, %d", s.First, s.Second), fmt.Sprintf("p = %.3f", s.P))
	}
	if r.PeopleAlpha != nil {
		add("α of the people alone", figure(r.PeopleAlpha), interval(r.PeopleAlphaInterval))
	}
	if s := r.Scores; s != nil {
		add("mean difference of scores", fmt.Sprintf("%.3f (%d)", s.Error, s.N), "")
		add("weighted κ of scores", figure(s.WeightedKappa), interval(s.WeightedKappaInterval))
		add("α of scores", figure(s.Alpha), interval(s.AlphaInterval))
	}
	if c := r.Consistency; c != nil {
		unanimous := fmt.Sprintf("%s of %d", rate(c.Unanimous), c.Items)
		add(fmt.Sprintf("same verdict in %d calls", c.Samples), unanimous, rates(c.UnanimousInterval))
		add("two calls agree", rate(c.Agreement), rates(c.AgreementInterval))
		if c.Undecided > 0 {
			add("calls without a verdict", text.Count(c.Undecided), "")
		}
	}
	add("calls", calls(r.Use), "")
	return facts
}

func calls(u result.JudgeUse) string {
	tokens, cost := text.Count(u.Usage.Total())+" tokens", text.Dollars(u.Cost.USD)
	if u.Usage.Unknown {
		tokens = "tokens unknown"
	}
	if u.Cost.Unknown {
		cost = "cost unknown"
	}
	return strings.Join([]string{text.Count(u.Calls), tokens, cost}, ", ")
}

func confusion(r *calibration.Report) document.Table {
	if r.Pairs == nil {
		c := r.Confusion
		return document.Table{Columns: document.Columns(1, "", "judge pass", "judge fail"), Rows: []document.Row{
			document.Words("people pass", text.Count(c.PassPass), text.Count(c.PassFail)),
			document.Words("people fail", text.Count(c.FailPass), text.Count(c.FailFail)),
		}}
	}
	const a, b, tie = calibration.A, calibration.B, calibration.Tie
	t := document.Table{Columns: document.Columns(1, "", "judge a", "judge b", "judge tie")}
	for _, people := range []calibration.Verdict{a, b, tie} {
		of := r.Pairs.Preferences[people]
		counts := []string{text.Count(of[a]), text.Count(of[b]), text.Count(of[tie])}
		t.Rows = append(t.Rows, document.Words(append([]string{"people " + string(people)}, counts...)...))
	}
	return t
}

func figuresTable(of string) document.Table {
	names := []string{of, "n", "accuracy", "κ", "α", "false pass", "false fail", "undecided"}
	return document.Table{Columns: document.Columns(1, names...)}
}

func row(name string, f *calibration.Figures) document.Row {
	of := func(s calibration.Share) string { return fmt.Sprintf("%d of %d", s.Count, s.Of) }
	return document.Words(text.OneLine(name, 60), text.Count(f.N), rate(f.Accuracy), figure(f.Kappa), figure(f.Alpha),
		of(f.FalsePass), of(f.FalseFail), text.Count(f.Undecided))
}

// notes are what no figure has, and what the figures cannot show.
func notes(r *calibration.Report) (notes []string) {
	if r.Split > 0 {
		notes = append(notes, "people are split on "+text.Plural(r.Split, "answer")+", which α alone counts")
	}
	if r.Unclear > 0 {
		notes = append(notes, "unclear to people, and not compared: "+text.Plural(r.Unclear, "answer"))
	}
	if n := len(r.UndecidedItems); n > 0 {
		notes = append(notes, text.Plural(n, "answer")+
			" without a verdict of the judge: in no figure, and never counted as agreement")
	}
	return append(notes, r.Notes...)
}

// entry is a case with both verdicts, the answer, and the judge's reasoning or the reason for a missing verdict.
func entry(c calibration.Case, verdict result.Verdict) document.Entry {
	scored := func(v calibration.Verdict, score *float64) string {
		if score == nil {
			return string(v)
		}
		return fmt.Sprintf("%s %.2f", v, *score)
	}
	reason := c.Why
	if reason == "" {
		reason = c.Reasoning
	}
	e := document.Entry{
		Text: fmt.Sprintf("%s (line %d), %s: people %s, judge %s", text.OneLine(c.ID, 80), c.Line,
			text.OneLine(c.Criterion, 80), scored(c.People, c.PeopleScore), scored(c.Judge, c.JudgeScore)),
		From: "answer: " + text.OneLine(c.Answer, 160), Verdict: verdict,
	}
	if reason != "" {
		e.From += " · judge: " + text.OneLine(reason, 400)
	}
	return e
}

const unknown = "unknown"

func rate(x *float64) string {
	if x == nil {
		return unknown
	}
	return text.Percent(*x)
}

func share(x *float64, n, of int) string { return fmt.Sprintf("%s (%d of %d)", rate(x), n, of) }

func rates(x *[2]float64) string {
	if x == nil {
		return ""
	}
	return text.PercentRange(*x)
}

func figure(x *float64) string {
	if x == nil {
		return unknown
	}
	return fmt.Sprintf("%.3f", *x)
}

func interval(x *[2]float64) string {
	if x == nil {
		return ""
	}
	return fmt.Sprintf("%.3f to %.3f", x[0], x[1])
}
