package pages

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/report/transcript"
	"github.com/rehearse-dev/rehearse/internal/run/annotation"
	"github.com/rehearse-dev/rehearse/internal/run/runindex"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/web/pages/frame"
)

// judgePage shows judged assertions to be labelled by hand. What the judge said is hidden until then, so that it leads
// nobody.
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
	run      *runindex.Found
}

// judgementRow is a judgement with the turn that it is about.
type judgementRow struct {
	judgement
	// Reasoning is what the judge said; empty until the row is labelled.
	Reasoning, Address string
	// Form is where its label is sent.
	Form         string
	User, Reply  transcript.Message
	Conversation []transcript.Message
}

// judgements finds the run that a request is about, and returns the judgements of it that are labelled, and those that
// fit; ok is false where it has answered.
func (p *Pages) judgements(w http.ResponseWriter, r *http.Request,
	page *judgePage) (labelled, fitting []judgement, ok bool) {
	q := page.Query
	run := p.Runs.Find(q.Get("run"))
	if q.Get("run") == "" {
		run = p.Runs.Find(runindex.Latest)
	} else if run == nil {
		p.frame.NotFound(w, r, "There is no run of that id here.", p.newest(5)...)
		return nil, nil, false
	}
	if run == nil {
		page.List.Empty = "There are no runs yet. `rehearse run SUITE --judge MODEL` makes one with judged assertions."
		return nil, nil, true
	}
	page.Run = run.Record.ID
	index := p.indexOf(w, r, run)
	if index == nil {
		return nil, nil, false
	}
	book, warnings := p.book(r.Context(), run)
	page.Warnings = append(page.Warnings, warnings...)
	read, err := p.judged.of(run, index)
	if err != nil {
		p.unread(w, r, run, err)
		return nil, nil, false
	}
	if read.more {
		page.Warnings = append(page.Warnings, "Only the first "+text.Count(maxJudgements)+
			" judged assertions of this run are shown.")
	}
	page.run, page.Graders = run, read.graders
	if len(read.all) == 0 {
		page.List.Empty = "This run has no judged assertions."
	}
	if !hasLabels(book) && len(frame.Only(q.Values, "grader", "labelled", "author")) == 0 {
		return nil, read.all, true
	}
	fitting = make([]judgement, 0, len(read.all))
	for _, j := range read.all {
		has := "no"
		if j.Label = book.Label(j.Key, j.Item, j.Assertion); j.Label != nil {
			has = "yes"
			labelled = append(labelled, j)
		}
		fits := func(name, value string) bool {
			return len(q.Values[name]) == 0 || slices.Contains(q.Values[name], value)
		}
		if fits("grader", j.Grader) && fits("labelled", has) &&
			(len(q.Values["author"]) == 0 || j.Label != nil && fits("author", j.Label.Author)) {
			fitting = append(fitting, j)
		}
	}
	return labelled, fitting, true
}

// hasLabels reports whether somebody has labelled a judged assertion.
func hasLabels(book *annotation.Book) bool {
	return slices.ContainsFunc(book.All, func(a annotation.Annotation) bool { return a.Kind == annotation.Label })
}

// judge answers with the judged assertions of a run.
func (p *Pages) judge(w http.ResponseWriter, r *http.Request) {
	page := judgePage{
		Page:   p.frame.Base(r, "judge", "Judge"),
		Query:  frame.QueryOf(r, "/judge", "run", "grader", "labelled", "author", "page", "per"),
		Author: p.frame.Author(r),
	}
	labelled, fitting, ok := p.judgements(w, r, &page)
	if !ok {
		return
	}
	if p.Make != nil {
		page.CSRF = p.frame.Form(w, r)
	}
	page.Download = frame.Address("/judge/labels.jsonl",
		frame.Only(page.Query.Values, "run", "grader", "labelled", "author"))
	runs, _ := p.Runs.Runs()
	for _, run := range runs[:min(len(runs), 20)] {
		page.Runs = append(page.Runs, frame.Link{Label: run.Record.ID, Address: page.Query.With("run", run.Record.ID)})
	}
	page.agreements(labelled)
	empty := page.List.Empty
	var first, last int
	if page.List, first, last = page.Query.Page("judgements", len(fitting)); len(fitting) == 0 {
		page.List.Empty = empty
		if empty == "" {
			page.List.Empty, page.List.Drop = "No judged assertion fits these filters.",
				[]frame.Link{{Label: "All of them", Address: "/judge?run=" + url.QueryEscape(page.Run)}}
		}
	}
	var of *runindex.Row // whose record was read last
	var record *result.Test
	for _, j := range fitting[first:last] {
		if j.Row != of {
			var err error
			if record, err = page.run.Read(j.Row); err != nil {
				p.unread(w, r, page.run, err)
				return
			}
			of = j.Row
		}
		page.Rows = append(page.Rows, page.row(j, record))
	}
	p.frame.Show(w, http.StatusOK, "judge", page)
}

// row returns a judgement with what it is about.
func (p *judgePage) row(j judgement, record *result.Test) judgementRow {
	var trials []string
	if j.Trial > 0 {
		trials = []string{strconv.Itoa(j.Trial)}
	}
	row := judgementRow{
		judgement: j,
		Address:   addressOfTest(p.Run, runindex.Test{Suite: j.Suite, ID: j.TestID, Target: j.Target}, trials, ""),
	}
	row.Form = addressOfRun(p.Run) + "/tests/" + frame.Segment(j.TestID) + "/label"
	if j.Label != nil {
		row.Reasoning = reasoningOf(record, j)
	}
	shown := transcript.Of(unmarked(record), "", transcript.Rendered)
	for _, t := range shown.Turns {
		if "turn-"+strconv.Itoa(t.N) == j.Item {
			row.User, row.Reply, row.Conversation = t.User, t.Reply, nil
			row.Address += "#" + t.ID
			return row
		}
		if !t.User.Silent {
			row.Conversation = append(row.Conversation, t.User)
		}
		if !t.Reply.Silent {
			row.Conversation = append(row.Conversation, t.Reply)
		}
	}
	row.Address += "#assertions"
	return row
}

// reasoningOf returns what the judge said of an assertion.
func reasoningOf(t *result.Test, j judgement) string {
	for _, s := range t.Scores {
		for _, a := range s.Assertions {
			if s.Name == j.Item && a.Text == j.Assertion && a.Grader == j.Grader {
				return a.Evidence
			}
		}
	}
	return ""
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

// label takes what somebody says of a judged assertion.
func (p *Pages) label(w http.ResponseWriter, r *http.Request) {
	f := p.read(w, r, annotation.Label)
	if f == nil {
		return
	}
	f.Label, f.Comment, f.Assertion = r.PostFormValue("label"), strings.TrimSpace(r.PostFormValue("comment")),
		r.PostFormValue("assertion")
	index := p.indexOf(w, r, f.run)
	if index == nil {
		return
	}
	read, err := p.judged.of(f.run, index)
	if err != nil {
		p.unread(w, r, f.run, err)
		return
	}
	all := read.all
	at := slices.IndexFunc(all, func(j judgement) bool {
		return j.Key == f.Key() && j.Item == f.Item && sameLines(j.Assertion, f.Assertion)
	})
	if at < 0 {
		p.frame.Refuse(w, r, http.StatusUnprocessableEntity, "The conversation has no such judged assertion.")
		return
	}
	f.Assertion, f.Judged, f.Model = all[at].Assertion, all[at].Judged(), f.run.Record.Judge
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
			// whoever has gone needs no labels
			_ = encoder.Encode(labelLine{
				page.Run, j.Suite, j.TestID, j.Target, j.Trial, j.Item, j.Assertion, l.Label, j.Judged(),
				page.run.Record.Judge, l.Author, l.Comment, l.At,
			})
		}
	}
	_ = lines.Flush() // likewise
}
