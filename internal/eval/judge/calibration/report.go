package calibration

import (
	"fmt"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Gate says what a judge must reach; nil asks nothing.
type Gate struct {
	MinKappa    *float64 `json:"min_kappa"`
	MinAccuracy *float64 `json:"min_accuracy"`
	// Met is true when an answer was compared and every figure that is asked is known and reaches its least value.
	// Reasons say what does not.
	Met     bool     `json:"met"`
	Reasons []string `json:"reasons"`
}

// Report is what a calibration found.
type Report struct {
	Schema int    `json:"schema"`
	Judge  string `json:"judge"`
	File   string `json:"file"`
	// Items counts the answers with their criteria, Labels what people said of them, Annotators the people who are
	// named.
	Items      int `json:"items"`
	Labels     int `json:"labels"`
	Annotators int `json:"annotators"`
	// Threshold makes verdicts of scores.
	Threshold float64 `json:"threshold"`
	Figures
	// Split counts answers on which as many people said pass as fail; of the figures, they are in α alone. Unclear
	// counts those that nobody could decide, about which no judge is asked, and NotJudged those that were left when the
	// calibration was stopped.
	Split     int `json:"split"`
	Unclear   int `json:"unclear"`
	NotJudged int `json:"not_asked"`
	// Criteria has the figures of each criterion, in the order of the file.
	Criteria []Criterion `json:"criteria"`
	// Models has the figures of each model of a panel by itself, in the order in which they vote; none for a single
	// judge.
	Models []Member `json:"models,omitempty"`
	// PeopleAlpha is α of the people among themselves; nil without two for an answer.
	PeopleAlpha         *float64     `json:"people_alpha"`
	PeopleAlphaInterval *[2]float64  `json:"people_alpha_interval"`
	Consistency         *Consistency `json:"self_consistency"`
	// Swap says how far preferences survive when the answers of a pair change places; nil without pairs.
	Swap *Swap `json:"swap,omitempty"`
	// Disagreements are the answers on which people and the judge differ, those that only the judge passes first.
	// UndecidedItems have no verdict of the judge.
	Disagreements  []Case          `json:"disagreements"`
	UndecidedItems []Case          `json:"undecided_items"`
	Use            result.JudgeUse `json:"judge_use"`
	Gate           Gate            `json:"gate"`
	// Notes say what the figures cannot tell.
	Notes []string `json:"notes"`
}

// Criterion has the figures of one criterion.
type Criterion struct {
	Criterion string `json:"criterion"`
	Figures
}

// Member has the figures of one model of a panel.
type Member struct {
	Model string `json:"model"`
	Figures
}

// Case is one answer of which the report tells.
type Case struct {
	ID          string   `json:"id"`
	Line        int      `json:"line"`
	Criterion   string   `json:"criterion"`
	People      Verdict  `json:"people"`
	Judge       Verdict  `json:"judge"`
	PeopleScore *float64 `json:"people_score,omitempty"`
	JudgeScore  *float64 `json:"judge_score,omitempty"`
	Answer      string   `json:"answer"`
	// Reasoning is the judge's, Why the reason for which there is no verdict.
	Reasoning string `json:"reasoning,omitempty"`
	Why       string `json:"why,omitempty"`
}

// maxAnswer is how many characters of an answer a case shows.
const maxAnswer = 400

// New makes a report of what a judge of a name was asked.
func New(judge string, l *Labels, asked []*Result, use result.JudgeUse, o Options, gate Gate) *Report {
	r := &Report{
		Schema: 1, Judge: judge, File: l.File, Items: len(asked), Annotators: len(l.Annotators), Threshold: o.Threshold,
		Use: use, Figures: figuresOf(asked, o.Threshold), Disagreements: []Case{}, UndecidedItems: []Case{},
	}
	r.byCriterion(asked)
	r.byModel(asked)
	var people [][]Verdict
	for _, a := range asked {
		r.Labels += len(a.Item.Labels)
		people = append(people, a.verdicts(o.Threshold))
		r.place(a)
	}
	slices.SortStableFunc(r.Disagreements, func(a, b Case) int { return rank(a.Judge) - rank(b.Judge) })
	r.PeopleAlpha, r.PeopleAlphaInterval = verdictAlpha(people)
	r.Consistency = consistency(asked, o.Samples)
	r.Swap = swapOf(asked)
	r.Gate = gate.decide(r.Figures)
	r.Notes = r.notes()
	return r
}

func (r *Report) byCriterion(asked []*Result) {
	of := map[string][]*Result{}
	var names []string
	for _, a := range asked {
		if of[a.Criterion] == nil {
			names = append(names, a.Criterion)
		}
		of[a.Criterion] = append(of[a.Criterion], a)
	}
	for _, name := range names {
		r.Criteria = append(r.Criteria, Criterion{name, figuresOf(of[name], r.Threshold)})
	}
}

// byModel compares the first vote of each model.
func (r *Report) byModel(asked []*Result) {
	of := map[string][]*Result{}
	var names []string
	for _, a := range asked {
		if len(a.Answers) == 0 {
			continue
		}
		seen := map[string]bool{}
		for _, vote := range a.Answers[0].Votes {
			if seen[vote.Model] {
				continue
			}
			seen[vote.Model] = true
			if of[vote.Model] == nil {
				names = append(names, vote.Model)
			}
			of[vote.Model] = append(of[vote.Model], &Result{Item: a.Item, Answers: []Answer{vote.Answer}})
		}
	}
	if len(names) < 2 {
		return
	}
	for _, name := range names {
		r.Models = append(r.Models, Member{name, figuresOf(of[name], r.Threshold)})
	}
}

// place counts what is in no figure, and keeps the cases.
func (r *Report) place(a *Result) {
	people, judge := a.people(r.Threshold), a.Verdict()
	switch {
	case people == Unclear:
		r.Unclear++
		return
	case judge == "":
		r.NotJudged++
		return
	case judge == Undecided:
		r.UndecidedItems = append(r.UndecidedItems, a.tell(people))
	case people != Split && people != judge:
		r.Disagreements = append(r.Disagreements, a.tell(people))
	}
	if people == Split {
		r.Split++
	}
}

func (a *Result) tell(people Verdict) Case {
	first := a.Answers[0]
	c := Case{
		ID: a.ID, Line: a.Line, Criterion: a.Criterion, People: people, Judge: first.Verdict, JudgeScore: first.Score,
		Answer: text.Clip(a.Output, maxAnswer), Reasoning: first.Reasoning, Why: first.Why,
	}
	if a.Pair {
		c.Answer = "a: " + text.Clip(a.Output, maxAnswer/2) + " / b: " + text.Clip(a.Other, maxAnswer/2)
	}
	if a.Scored() {
		c.PeopleScore = new(a.score())
	}
	return c
}

// rank puts what the judge passes before what it fails.
func rank(v Verdict) int {
	if v == Pass {
		return 0
	}
	return 1
}

// decide holds figures against the gate. A figure that is not known does not reach anything.
func (g Gate) decide(f Figures) Gate {
	g.Reasons = []string{}
	hold := func(what string, least, got *float64) {
		switch {
		case least == nil:
		case got == nil:
			g.Reasons = append(g.Reasons, fmt.Sprintf("%s is not defined, needs %g", what, *least))
		case *got < *least:
			g.Reasons = append(g.Reasons, fmt.Sprintf("%s is %s, needs %g", what, text.Score(*got, 4), *least))
		}
	}
	hold("κ", g.MinKappa, f.Kappa)
	hold("accuracy", g.MinAccuracy, f.Accuracy)
	if f.N == 0 && g.asksNothing() {
		g.Reasons = append(g.Reasons, "no answer can be compared")
	}
	g.Met = len(g.Reasons) == 0
	return g
}

// asksNothing reports whether no figure has a least value.
func (g Gate) asksNothing() bool { return g.MinKappa == nil && g.MinAccuracy == nil }

// Exit returns the exit code: what could not be decided outweighs a gate that is missed, as in a run. Without a gate
// and an answer to compare, nothing was decided.
func (r *Report) Exit() int {
	switch {
	case r.NotJudged > 0:
		return result.ExitInterrupted
	case len(r.UndecidedItems) > 0, r.N == 0 && r.Gate.asksNothing():
		return result.ExitNotRun
	case !r.Gate.Met:
		return result.ExitFailed
	}
	return result.ExitPassed
}

// fewLabels is the number of labels below which the interval of κ is too narrow (stats.Agreement), fewOfOneKind how
// many of each verdict tell something about the judge's errors: below ten, one error more moves the rate by ten points
// or more.
const (
	fewLabels    = 30
	fewOfOneKind = 10
)

func (r *Report) notes() []string {
	notes := []string{}
	if r.N < fewLabels {
		notes = append(notes,
			fmt.Sprintf("too few labels: %d can be compared; the interval of κ is too narrow below %d", r.N, fewLabels))
	}
	if r.N > 0 && r.Kappa == nil {
		notes = append(notes, "κ is not defined: people and the judge gave all answers the same verdict")
	}
	if r.Pairs != nil {
		return notes
	}
	if n := r.FalsePass.Of; n < fewOfOneKind {
		notes = append(notes, fmt.Sprintf(
			"too few labels: people failed %d; below %d little is known of what the judge lets pass", n, fewOfOneKind))
	}
	if n := r.FalseFail.Of; n < fewOfOneKind {
		notes = append(notes, fmt.Sprintf(
			"too few labels: people passed %d; below %d little is known of what the judge fails", n, fewOfOneKind))
	}
	return notes
}
