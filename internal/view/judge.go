package view

import (
	"bufio"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"rehearse/internal/annotation"
	"rehearse/internal/archive"
	"rehearse/internal/grader"
	"rehearse/internal/report/transcript"
	"rehearse/internal/result"
	"rehearse/internal/stats"
	"rehearse/internal/text"
	"rehearse/internal/view/frame"
)

// judgePage shows judged assertions to be labelled by hand. What the judge said is hidden until then, so that it leads nobody.
type judgePage struct {
	frame.Page
	Query    frame.Query
	Run      string
	Runs     []frame.Link
	Graders  []string
	Figures  []frame.Figure
	By       []agreementOf
	Table    [2][2]int // by label and judge, each pass first
	Download string
	Author   string
	List     frame.List
	Rows     []judgementRow
}

// agreementOf is how far people and the judge agree on one grader with one model.
type agreementOf struct {
	Grader, Model string
	Figures       []frame.Figure
}

// judgement is an assertion that a judge decided.
type judgement struct {
	result.Key
	Item, Assertion, Grader, Reasoning string
	Judged                             string
	Model                              string
	Label                              *annotation.Annotation
	record                             *result.Test
}

// judgementRow is a judgement with the turn that it is about.
type judgementRow struct {
	judgement
	Address string
	// Form is where its label is sent.
	Form        string
	User, Reply transcript.Message
	Whole       []transcript.Message
}

// judgedNames are the graders that ask a model.
func judgedNames() map[string]bool {
	names := map[string]bool{}
	for _, k := range grader.Builtin() {
		if k.Judged {
			for _, name := range append([]string{k.Name}, k.Aliases...) {
				names[name] = true
			}
		}
	}
	return names
}

// maxJudgements bounds how many judgements of one run are looked at.
const maxJudgements = 50_000

// errEnough ends the reading of a run that has more.
var errEnough = errors.New("enough was read")

// judgements returns the judged assertions of a run in its order, with their labels.
func judgements(run *archive.Found, book *annotation.Book) (all []judgement, err error) {
	index, err := run.Index()
	if err != nil {
		return nil, err
	}
	names := judgedNames()
	for _, e := range index.Tests {
		rows := e.Of
		if len(rows) == 0 {
			rows = []*archive.Row{&e.Row}
		}
		for _, row := range rows {
			if !slices.ContainsFunc(row.Graders, func(name string) bool { return names[name] }) {
				continue
			}
			t, err := run.Read(row)
			if err != nil {
				return nil, err
			}
			for _, s := range t.Scores {
				for _, a := range s.Assertions {
					if !names[a.Grader] && len(a.Voters) == 0 {
						continue
					}
					if len(all) == maxJudgements {
						return all, errEnough
					}
					j := judgement{Key: t.Key(), Item: s.Name, Assertion: a.Text, Grader: a.Grader, Reasoning: a.Evidence, Judged: "fail", Model: run.Record.Judge, record: t}
					if a.Passed {
						j.Judged = "pass"
					}
					j.Label = book.Label(j.Key, j.Item, j.Assertion)
					all = append(all, j)
				}
			}
		}
	}
	return all, nil
}

// judgements returns the run that a request is about, and the judgements of it that fit; ok is false where it has answered.
func (p *Pages) judgements(w http.ResponseWriter, r *http.Request, page *judgePage) (all, fitting []judgement, ok bool) {
	q := page.Query
	run := p.Runs.Find(q.Get("run"))
	if q.Get("run") == "" {
		run = p.Runs.Find(archive.Latest)
	} else if run == nil {
		p.frame.NotFound(w, r, "There is no run of that id here.", p.newest(5)...)
		return nil, nil, false
	}
	if run == nil {
		page.List.Empty = "There are no runs yet. `rehearse run SUITE --judge MODEL` makes one with judged assertions."
		return nil, nil, true
	}
	page.Run = run.Record.ID
	book, warnings := p.book(r.Context(), run)
	page.Warnings = append(page.Warnings, warnings...)
	all, err := judgements(run, book)
	switch {
	case errors.Is(err, errEnough):
		page.Warnings = append(page.Warnings, "Only the first "+text.Count(maxJudgements)+" judged assertions of this run are shown.")
	case err != nil:
		p.Frame.Log.Error("a run cannot be read", "run", run.Record.ID, "error", err)
		p.frame.Unavailable(w, r, "The run cannot be read.")
		return nil, nil, false
	}
	for _, j := range all {
		if !slices.Contains(page.Graders, j.Grader) {
			page.Graders = append(page.Graders, j.Grader)
		}
		labelled := "no"
		if j.Label != nil {
			labelled = "yes"
		}
		fits := func(name, value string) bool {
			return len(q.Values[name]) == 0 || slices.Contains(q.Values[name], value)
		}
		if fits("grader", j.Grader) && fits("labelled", labelled) && (len(q.Values["author"]) == 0 || j.Label != nil && fits("author", j.Label.Author)) {
			fitting = append(fitting, j)
		}
	}
	if len(all) == 0 {
		page.List.Empty = "This run has no judged assertions."
	}
	return all, fitting, true
}

// judge answers with the judged assertions of a run.
func (p *Pages) judge(w http.ResponseWriter, r *http.Request) {
	page := judgePage{Page: p.frame.Base(r, "judge", "Judge"), Query: frame.QueryOf(r, "/judge", "run", "grader", "labelled", "author", "page", "per"), Author: p.frame.Author(r)}
	all, fitting, ok := p.judgements(w, r, &page)
	if !ok {
		return
	}
	if p.Make != nil {
		page.CSRF = p.frame.Form(w, r)
	}
	page.Download = frame.Address("/judge/labels.jsonl", frame.Only(page.Query.Values, "run", "grader", "labelled", "author"))
	runs, _ := p.Runs.Runs()
	for _, run := range runs[:min(len(runs), 20)] {
		page.Runs = append(page.Runs, frame.Link{Label: run.Record.ID, Address: page.Query.With("run", run.Record.ID)})
	}
	page.agreements(all)
	empty := page.List.Empty
	var first, last int
	if page.List, first, last = page.Query.Page("judgements", len(fitting)); len(fitting) == 0 {
		page.List.Empty = empty
		if empty == "" {
			page.List.Empty, page.List.Drop = "No judged assertion fits these filters.", []frame.Link{{Label: "All of them", Address: "/judge?run=" + url.QueryEscape(page.Run)}}
		}
	}
	for _, j := range fitting[first:last] {
		page.Rows = append(page.Rows, page.row(j))
	}
	p.frame.Show(w, http.StatusOK, "judge", page)
}

// row returns a judgement with what it is about.
func (p *judgePage) row(j judgement) judgementRow {
	var trials []string
	if j.Trial > 0 {
		trials = []string{strconv.Itoa(j.Trial)}
	}
	row := judgementRow{judgement: j, Address: addressOfTest(p.Run, archive.Test{Suite: j.Suite, ID: j.TestID, Target: j.Target}, trials, "")}
	row.Form = addressOfRun(p.Run) + "/tests/" + frame.Segment(j.TestID) + "/label"
	shown := transcript.Of(unmarked(j.record), "", transcript.Rendered)
	for _, t := range shown.Turns {
		if "turn-"+strconv.Itoa(t.N) == j.Item {
			row.User, row.Reply, row.Whole = t.User, t.Reply, nil
			row.Address += "#" + t.ID
			return row
		}
		if !t.User.Silent {
			row.Whole = append(row.Whole, t.User)
		}
		if !t.Reply.Silent {
			row.Whole = append(row.Whole, t.Reply)
		}
	}
	row.Address += "#assertions"
	return row
}

// unmarked returns a record without the pieces on which graders decided: what the judge quoted says what it thought.
func unmarked(t *result.Test) *result.Test {
	blank := *t
	blank.Scores = slices.Clone(t.Scores)
	for i := range blank.Scores {
		s := &blank.Scores[i]
		s.Assertions = slices.Clone(s.Assertions)
		for j := range s.Assertions {
			s.Assertions[j].Spans = nil
		}
	}
	return &blank
}

// agreements fills in how far people and the judge agree, over the labels pass and fail.
func (p *judgePage) agreements(all []judgement) {
	type kind struct{ grader, model string }
	said, judged := map[kind][]string{}, map[kind][]string{}
	var kinds []kind
	for _, j := range all {
		if j.Label == nil || j.Label.Label != "pass" && j.Label.Label != "fail" {
			continue
		}
		k := kind{j.Grader, j.Model}
		if !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
		}
		for _, of := range []kind{k, {}} {
			said[of], judged[of] = append(said[of], j.Label.Label), append(judged[of], j.Judged)
		}
		at := func(verdict string) int {
			if verdict == "pass" {
				return 0
			}
			return 1
		}
		p.Table[at(j.Label.Label)][at(j.Judged)]++
	}
	p.Figures = agreementFigures(said[kind{}], judged[kind{}])
	for _, k := range kinds {
		p.By = append(p.By, agreementOf{k.grader, k.model, agreementFigures(said[k], judged[k])})
	}
}

func agreementFigures(said, judged []string) []frame.Figure {
	a := stats.Kappa(said, judged)
	agreement := frame.Figure{Name: "agreement", Label: "Agreement", Value: "unknown"}
	kappa := frame.Figure{Name: "kappa", Label: "Cohen’s kappa", Value: "unknown"}
	if a.N > 0 {
		agreement.Value, agreement.Data = text.Percent(a.Observed), frame.Plain(a.Observed)
	}
	if a.Defined {
		kappa.Value, kappa.Data, kappa.Low, kappa.High = text.Score(a.Kappa, 2), frame.Plain(a.Kappa), frame.Plain(a.Interval[0]), frame.Plain(a.Interval[1])
		kappa.Note = "95% interval " + text.Score(a.Interval[0], 2) + " to " + text.Score(a.Interval[1], 2)
	}
	return []frame.Figure{count("labels", "Labels", a.N), agreement, kappa}
}

// label takes what somebody says of a judged assertion.
func (p *Pages) label(w http.ResponseWriter, r *http.Request) {
	f := p.read(w, r, annotation.Label)
	if f == nil {
		return
	}
	f.Label, f.Comment, f.Assertion = r.PostFormValue("label"), strings.TrimSpace(r.PostFormValue("comment")), r.PostFormValue("assertion")
	all, err := judgements(f.run, nil)
	if err != nil && !errors.Is(err, errEnough) {
		p.frame.Unavailable(w, r, "The run cannot be read.")
		return
	}
	at := slices.IndexFunc(all, func(j judgement) bool { return j.Key == f.Key() && j.Item == f.Item && j.Assertion == f.Assertion })
	if at < 0 {
		p.frame.Refuse(w, r, http.StatusUnprocessableEntity, "The conversation has no such judged assertion.")
		return
	}
	f.Judged, f.Model = all[at].Judged, all[at].Model
	if f.back = "/judge?run=" + url.QueryEscape(f.RunID); r.PostFormValue("back") != "" {
		if values, err := url.ParseQuery(r.PostFormValue("back")); err == nil {
			f.back = frame.Address("/judge", frame.Only(values, "run", "grader", "labelled", "author", "page", "per"))
		}
	}
	p.keep(w, r, f)
}

// labelLine is a label as it is downloaded.
type labelLine struct {
	RunID     string    `json:"run_id"`
	Suite     string    `json:"suite"`
	TestID    string    `json:"test_id"`
	Target    string    `json:"target"`
	Trial     int       `json:"trial"`
	Item      string    `json:"item"`
	Assertion string    `json:"assertion"`
	Label     string    `json:"label"`
	Judged    string    `json:"judged"`
	Model     string    `json:"model"`
	Author    string    `json:"author"`
	Comment   string    `json:"comment"`
	At        time.Time `json:"at"`
}

// labels answers with the labels of a run, a JSON object a line.
func (p *Pages) labels(w http.ResponseWriter, r *http.Request) {
	page := judgePage{Query: frame.QueryOf(r, "/judge/labels.jsonl", "run", "grader", "labelled", "author")}
	_, fitting, ok := p.judgements(w, r, &page)
	if !ok {
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="labels.jsonl"`)
	lines := bufio.NewWriter(w)
	encoder := json.NewEncoder(lines)
	encoder.SetEscapeHTML(false)
	for _, j := range fitting {
		if l := j.Label; l != nil {
			_ = encoder.Encode(labelLine{page.Run, j.Suite, j.TestID, j.Target, j.Trial, j.Item, j.Assertion, l.Label, j.Judged, j.Model, l.Author, l.Comment, l.At}) // whoever has gone needs no labels
		}
	}
	_ = lines.Flush() // likewise
}
