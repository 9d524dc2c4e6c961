package calibration

import (
	"fmt"
	"io"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// shownCases is how many cases of a kind a text shows; JSON has all.
const shownCases = 20

// Text writes the report for a terminal.
func (r *Report) Text(w io.Writer) error {
	p := printer{w: w}
	p.line("%s", r.heading())
	if r.NotAsked > 0 {
		p.line("stopped: %s not asked about", text.Plural(r.NotAsked, "answer"))
	}
	p.line("")
	p.table(r.summary())
	p.line("")
	p.table(r.confusion())
	if len(r.Criteria) > 1 {
		p.line("")
		p.table(r.criteria())
	}
	if len(r.Models) > 0 {
		p.line("")
		p.table(r.models())
	}
	p.cases("the judge differs from people", r.Disagreements)
	p.cases("the judge could not decide", r.UndecidedItems)
	p.line("")
	for _, line := range r.footer() {
		p.line("%s", line)
	}
	return p.err
}

// heading says what was compared.
func (r *Report) heading() string {
	people := ""
	if r.Annotators > 0 {
		people = fmt.Sprintf(" by %d named", r.Annotators)
	}
	return fmt.Sprintf("judge %s on %s with %s%s (%s)",
		text.OneLine(r.Judge, 200), text.Plural(r.Items, "answer"), text.Plural(r.Labels, "label"), people, text.OneLine(r.File, 200))
}

// summary has the figures over all criteria, a row each: name, value, interval.
func (r *Report) summary() [][]string {
	rows := [][]string{
		{"accuracy", rate(r.Accuracy) + fmt.Sprintf(" (%d of %d)", r.Agreed, r.N), rates(r.AccuracyInterval)},
		{"Cohen's κ", figure(r.Kappa), interval(r.KappaInterval)},
		{"Krippendorff's α", figure(r.Alpha), interval(r.AlphaInterval)},
	}
	if p := r.Pairs; p != nil {
		rows = append(rows, []string{"weighted κ (a tie is half)", figure(p.WeightedKappa), interval(p.WeightedKappaInterval)})
	} else {
		rows = append(rows,
			[]string{"judge passes what people failed", part(r.FalsePass), rates(r.FalsePass.Interval)},
			[]string{"judge fails what people passed", part(r.FalseFail), rates(r.FalseFail.Interval)})
	}
	if s := r.Swap; s != nil {
		rows = append(rows, []string{"same with the answers swapped", rate(s.Rate) + fmt.Sprintf(" (%d of %d)", s.Consistent, s.N), rates(s.Interval)},
			[]string{"always the first, the second", fmt.Sprintf("%d, %d", s.First, s.Second), fmt.Sprintf("p = %.3f", s.P)})
	}
	if r.PeopleAlpha != nil {
		rows = append(rows, []string{"α of the people alone", figure(r.PeopleAlpha), interval(r.PeopleAlphaInterval)})
	}
	if s := r.Scores; s != nil {
		rows = append(rows,
			[]string{"mean difference of scores", fmt.Sprintf("%.3f (%d)", s.Error, s.N), ""},
			[]string{"weighted κ of scores", figure(s.WeightedKappa), interval(s.WeightedKappaInterval)},
			[]string{"α of scores", figure(s.Alpha), interval(s.AlphaInterval)})
	}
	if c := r.Consistency; c != nil {
		rows = append(rows,
			[]string{fmt.Sprintf("same verdict in %d asks", c.Samples), rate(c.Unanimous) + fmt.Sprintf(" of %d", c.Items), rates(c.UnanimousInterval)},
			[]string{"two asks agree", rate(c.Agreement), rates(c.AgreementInterval)})
		if c.Undecided > 0 {
			rows = append(rows, []string{"asks without a verdict", text.Count(c.Undecided), ""})
		}
	}
	return rows
}

func (r *Report) confusion() [][]string {
	if r.Pairs != nil {
		rows := [][]string{{"", "judge a", "judge b", "judge tie"}}
		for _, people := range []Verdict{A, B, Tie} {
			of := r.Pairs.Preferences[people]
			rows = append(rows, []string{"people " + string(people), text.Count(of[A]), text.Count(of[B]), text.Count(of[Tie])})
		}
		return rows
	}
	c := r.Confusion
	return [][]string{
		{"", "judge pass", "judge fail"},
		{"people pass", text.Count(c.PassPass), text.Count(c.PassFail)},
		{"people fail", text.Count(c.FailPass), text.Count(c.FailFail)},
	}
}

// criteria has a row for each criterion.
func (r *Report) criteria() [][]string {
	rows := [][]string{head("criterion")}
	for _, c := range r.Criteria {
		rows = append(rows, c.row(c.Criterion))
	}
	return rows
}

// models has a row for each model of a panel.
func (r *Report) models() [][]string {
	rows := [][]string{head("model")}
	for _, m := range r.Models {
		rows = append(rows, m.row(m.Model))
	}
	return rows
}

func head(of string) []string {
	return []string{of, "n", "accuracy", "κ", "α", "false pass", "false fail", "undecided"}
}

// row has the figures of a criterion or a model in the order of head.
func (f *Figures) row(name string) []string {
	return []string{
		text.OneLine(name, 60), text.Count(f.N), rate(f.Accuracy), figure(f.Kappa), figure(f.Alpha),
		fmt.Sprintf("%d of %d", f.FalsePass.Count, f.FalsePass.Of), fmt.Sprintf("%d of %d", f.FalseFail.Count, f.FalseFail.Of), text.Count(f.Undecided),
	}
}

// footer says what is in no figure, what the figures cannot tell, what the asks took, and how the gate decides.
func (r *Report) footer() []string {
	var lines []string
	if r.Split > 0 {
		lines = append(lines, fmt.Sprintf("people are split on %s, which α alone counts", text.Plural(r.Split, "answer")))
	}
	if r.Unclear > 0 {
		lines = append(lines, fmt.Sprintf("unclear to people, and not compared: %s", text.Plural(r.Unclear, "answer")))
	}
	if n := len(r.UndecidedItems); n > 0 {
		lines = append(lines, text.Plural(n, "answer")+" without a verdict of the judge: in no figure, and never counted as agreement")
	}
	lines = append(lines, r.Notes...)
	lines = append(lines, took(r.Use.Calls, r.Use.Usage, r.Use.Cost))
	return append(lines, r.verdict())
}

// verdict says how the gate decides.
func (r *Report) verdict() string {
	var asked []string
	for _, one := range []struct {
		name  string
		least *float64
	}{{"κ", r.Gate.MinKappa}, {"accuracy", r.Gate.MinAccuracy}} {
		if one.least != nil {
			asked = append(asked, fmt.Sprintf("%s ≥ %g", one.name, *one.least))
		}
	}
	gate := "gate (" + strings.Join(asked, ", ") + "): "
	if r.Gate.asksNothing() {
		gate = "no gate: "
	}
	open := ""
	switch {
	case r.NotAsked > 0:
		open = "open: the calibration was stopped"
	case len(r.UndecidedItems) > 0:
		open = "open: the judge could not decide " + text.Plural(len(r.UndecidedItems), "answer")
	}
	switch {
	case open != "" && !r.Gate.Met:
		return gate + open + "; missed so far: " + strings.Join(r.Gate.Reasons, "; ")
	case open != "":
		return gate + open
	case !r.Gate.Met && r.Gate.asksNothing():
		return gate + "cannot say: " + strings.Join(r.Gate.Reasons, "; ")
	case !r.Gate.Met:
		return gate + "missed: " + strings.Join(r.Gate.Reasons, "; ")
	case r.Gate.asksNothing():
		return "no gate"
	}
	return gate + "met"
}

// printer writes lines until one cannot be written.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

func (p *printer) table(rows [][]string) {
	for _, line := range text.Table(rows, nil) {
		p.line("  %s", line)
	}
}

func (p *printer) cases(what string, cases []Case) {
	if len(cases) == 0 {
		return
	}
	p.line("\n%s (%d)", what, len(cases))
	for i, c := range cases {
		if i == shownCases {
			p.line("  … and %d more: --format json lists all", len(cases)-i)
			return
		}
		p.line("  %s", c.title())
		p.line("    answer: %s", text.OneLine(c.Answer, 160))
		if said := c.said(); said != "" {
			p.line("    judge: %s", text.OneLine(said, 400))
		}
	}
}

// title names a case and both verdicts.
func (c Case) title() string {
	scored := func(v Verdict, score *float64) string {
		if score == nil {
			return string(v)
		}
		return fmt.Sprintf("%s %.2f", v, *score)
	}
	return fmt.Sprintf("%s (line %d), %s: people %s, judge %s",
		text.OneLine(c.ID, 80), c.Line, text.OneLine(c.Criterion, 80), scored(c.People, c.PeopleScore), scored(c.Judge, c.JudgeScore))
}

// said is the judge's reasoning, or why there is none.
func (c Case) said() string {
	if c.Why != "" {
		return c.Why
	}
	return c.Reasoning
}
