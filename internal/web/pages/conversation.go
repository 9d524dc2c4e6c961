package pages

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/report/transcript"
	"github.com/rehearse-dev/rehearse/internal/run/annotation"
	"github.com/rehearse-dev/rehearse/internal/run/runindex"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/web/pages/frame"
)

// conversationPage is one conversation, or up to four trials of one side by side.
type conversationPage struct {
	frame.Page
	Run     string
	Test    result.Key
	Verdict result.Verdict
	Score   string
	Raw     bool
	// Toggle leads to the other view of the messages; Side to the trials side by side, empty where they are or where
	// there are no others.
	Toggle, Side string
	// Compare leads to the same test in the run before; empty where there is none.
	Compare      string
	Trials       []trialLink
	Shown        []shownConversation
	Class        string
	Moves        []move
	Others       []frame.Link
	List         string
	Position, Of int
	Human        human
	// Quarantined is when the quarantine of the record ends; empty where it counts.
	Quarantined string
}

// move leads to another conversation of the list.
type move struct{ Name, Label, Address string }

// maxSide is how many trials stand side by side.
const maxSide = 4

// conversation answers with a conversation.
func (p *Pages) conversation(w http.ResponseWriter, r *http.Request) {
	run, index := p.found(w, r)
	if run == nil {
		return
	}
	q := frame.Only(r.URL.Query(), "suite", "target", "trial", "view", "from", fromTurn)
	id := frame.Part(r, "test")
	address := addressOfRun(run.Record.ID)
	matches := index.Named(runindex.Test{Suite: q.Get("suite"), ID: id, Target: q.Get("target")})
	if len(matches) == 0 {
		p.frame.NotFound(w, r, "Run "+run.Record.ID+" has no such test.", frame.Link{
			Label: "Run " + run.Record.ID, Address: address,
		})
		return
	}
	e := matches[0]
	rows, ok := shownRows(e, q["trial"])
	if !ok {
		p.frame.NotFound(w, r, "The test has no such trial, or it was not held.", frame.Link{
			Label: "The test", Address: address + "/tests/" + frame.Segment(id),
		})
		return
	}
	of := runindex.Test{Suite: e.Suite, ID: e.TestID, Target: e.Target}
	page := conversationPage{
		Page: p.frame.Base(r, "conversation", text.OneLine(e.TestID, 200)), Run: run.Record.ID, Test: e.Key,
		Raw: q.Get("view") == "raw", Verdict: e.Verdict, Score: scoreOf(e.Verdict, e.Row.Score), Class: e.Class(),
	}
	for i, row := range rows {
		record, err := run.Read(row)
		if err != nil {
			p.unread(w, r, run, err)
			return
		}
		shown := conversationOf(record, i, page.Raw)
		shown.asked(r.Context(), run.Dir, record)
		page.Shown = append(page.Shown, shown)
	}
	page.bound(q, of)
	if len(rows) == 1 && rows[0].Trial > 0 {
		page.Test.Trial, page.Verdict, page.Score = rows[0].Trial, rows[0].Verdict,
			scoreOf(rows[0].Verdict, rows[0].Score)
	}
	book, warnings := p.book(r.Context(), run)
	page.Warnings = append(page.Warnings, warnings...)
	page.Human = p.human(w, r, book, page.Test, page.Run, itemsOf(page.Shown))
	if !slices.ContainsFunc(page.Shown[0].Turns, func(t transcript.Turn) bool { return !t.User.Silent }) {
		page.Human.Suite = ""
	}
	if t := rows[0].Quarantined; t != nil {
		page.Quarantined = t.Until
	}
	page.links(e, q, of)
	page.others(index, matches, of)
	if before := p.baseline(run); before != nil {
		values := url.Values{"a": {before.Record.ID}, "b": {page.Run}, "suite": {of.Suite}, "target": {of.Target}}
		page.Compare = frame.Address("/compare/tests/"+frame.Segment(of.ID),
			frame.Only(values, "a", "b", "suite", "target"))
	}
	page.moves(r.Context(), run, index, book, e, q.Get("from"))
	p.frame.Show(w, http.StatusOK, "conversation", page)
}

// itemsOf are the parts of a conversation that were graded, by their names in the record.
func itemsOf(shown []shownConversation) (items []string) {
	for _, t := range shown[0].Turns {
		if t.Item != nil {
			items = append(items, t.Item.Name)
		}
	}
	for _, whole := range shown[0].ConversationItems {
		items = append(items, whole.Name)
	}
	return items[:min(len(items), 100)]
}

// shownRows returns the records that a page shows: the trials that were asked for, else the first that failed, else the
// first; without trials the test's own.
func shownRows(e *runindex.Entry, trials []string) ([]*runindex.Row, bool) {
	if len(e.Of) == 0 {
		return []*runindex.Row{e.Row}, e.Verdict != "" && (len(trials) == 0 || slices.Equal(trials, []string{"0"}))
	}
	var rows []*runindex.Row
	for _, trial := range trials[:min(len(trials), maxSide)] {
		n, err := strconv.Atoi(trial)
		at, found := slices.BinarySearchFunc(e.Of, n, func(r *runindex.Row, n int) int {
			return cmp.Compare(r.Trial, n)
		})
		if err != nil || !found {
			return nil, false
		}
		rows = append(rows, e.Of[at])
	}
	if len(rows) > 0 {
		return rows, true
	}
	for _, row := range e.Of {
		if row.Verdict == result.Fail || row.Verdict == result.Error {
			return []*runindex.Row{row}, true
		}
	}
	return e.Of[:1], true
}

// links fills in what leads to other views of the conversation.
func (p *conversationPage) links(e *runindex.Entry, q url.Values, of runindex.Test) {
	from := q.Get("from")
	withView := func(address string, raw bool) string {
		u, err := url.Parse(address)
		if err != nil || !raw && !q.Has(fromTurn) {
			return address
		}
		values := u.Query()
		if raw {
			values.Set("view", "raw")
		}
		if q.Has(fromTurn) {
			values.Set(fromTurn, q.Get(fromTurn))
		}
		u.RawQuery = values.Encode()
		return u.String()
	}
	p.Toggle = withView(addressOfTest(p.Run, of, q["trial"], from), !p.Raw)
	for _, row := range e.Of {
		p.Trials = append(p.Trials, trialLink{
			row.Trial, row.Verdict, withView(addressOfTest(p.Run, of, []string{strconv.Itoa(row.Trial)}, from), p.Raw),
		})
	}
	if len(e.Of) > 1 && len(p.Shown) == 1 {
		var side []string
		for _, row := range sideBySide(e.Of) {
			side = append(side, strconv.Itoa(row.Trial))
		}
		p.Side = withView(addressOfTest(p.Run, of, side, from), p.Raw)
	}
}

// sideBySide returns up to four trials that are worth comparing: some that failed and some that passed.
func sideBySide(rows []*runindex.Row) []*runindex.Row {
	var passed, others []*runindex.Row
	for _, row := range rows {
		if row.Verdict == result.Pass {
			passed = append(passed, row)
		} else {
			others = append(others, row)
		}
	}
	others = others[:min(len(others), max(maxSide/2, maxSide-len(passed)))]
	side := append(slices.Clone(others), passed[:min(len(passed), maxSide-len(others))]...)
	slices.SortFunc(side, func(a, b *runindex.Row) int { return cmp.Compare(a.Trial, b.Trial) })
	return side
}

// others links the tests of the same id in other suites, and with other targets.
func (p *conversationPage) others(index *runindex.Index, matches []*runindex.Entry, shown runindex.Test) {
	all := index.Named(runindex.Test{ID: shown.ID})
	if len(matches) > len(all) {
		all = matches
	}
	for _, e := range all[:min(len(all), 50)] {
		of := runindex.Test{Suite: e.Suite, ID: e.TestID, Target: e.Target}
		if of != shown && (e.Position >= 0 || len(e.Of) > 0) {
			p.Others = append(p.Others, frame.Link{
				Label: text.OneLine(e.Suite+" · "+e.Target, 200), Address: addressOfTest(p.Run, of, nil, ""),
			})
		}
	}
}

// moves fills in what leads through the list that the conversation was opened from.
func (p *conversationPage) moves(ctx context.Context, run *runindex.Found, index *runindex.Index, book *annotation.Book,
	e *runindex.Entry, from string) {
	values, err := url.ParseQuery(from)
	if err != nil {
		values = nil
	}
	values = ofList(values)
	list := choose(ctx, frame.Query{Path: addressOfRun(p.Run), Values: values}, run.Run, index, book).tests
	up := frame.Address(addressOfRun(p.Run), values)
	p.Trail = []frame.Link{{Label: "Runs", Address: "/runs"}, {Label: "Run " + p.Run, Address: up, Up: true}}
	p.List = chosenBy(values)
	at := slices.Index(list, e)
	if p.Of = len(list); at < 0 {
		return
	}
	p.Position = at + 1
	to := func(name, label string, i int) {
		t := list[i]
		p.Moves = append(p.Moves, move{
			name, label,
			addressOfTest(p.Run, runindex.Test{Suite: t.Suite, ID: t.TestID, Target: t.Target}, nil, values.Encode()),
		})
	}
	failing := func(t *runindex.Entry) bool { return t.Verdict == result.Fail || t.Verdict == result.Error }
	if at > 0 {
		to("prev", "Previous", at-1)
	}
	if at+1 < len(list) {
		to("next", "Next", at+1)
	}
	for i := at - 1; i >= 0; i-- {
		if failing(list[i]) {
			to("prev-failing", "Previous failing", i)
			break
		}
	}
	for i := at + 1; i < len(list); i++ {
		if failing(list[i]) {
			to("next-failing", "Next failing", i)
			break
		}
	}
}

// shownConversation is a transcript with its place among the trials that stand side by side, from 1.
type shownConversation struct {
	Column int
	transcript.Transcript
}

// conversationOf returns a record as the page shows it; column is its place from 0.
func conversationOf(t *result.Test, column int, raw bool) shownConversation {
	prefix := ""
	if column > 0 {
		prefix = "trial-" + strconv.Itoa(t.Trial) + "-"
	}
	return shownConversation{column + 1, transcript.Of(t, prefix, messages(raw))}
}

// messages says how a page shows messages.
func messages(raw bool) transcript.Messages {
	if raw {
		return transcript.Raw
	}
	return transcript.Rendered
}
