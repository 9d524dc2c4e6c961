package pages

import (
	"context"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/run/runindex"
	"github.com/rehearse-dev/rehearse/internal/web/pages/frame"
)

// searchParameters are the parameters of the search.
var searchParameters = []string{"q", "role", "run", "suite", "target", "verdict", "since", "page", "per"}

// maxHits is how many hits a search looks for.
const maxHits = 2_000

// searchPage lists where words stand, in all runs.
type searchPage struct {
	frame.Page
	Query frame.Query
	List  frame.List
	Rows  []hitRow
	Roles []string
}

// hitRow is a text with the words in it.
type hitRow struct {
	runindex.Hit
	Run, Address string
	Sentence     template.HTML
}

// hitIn is a hit of a run, before its text is read.
type hitIn struct {
	runindex.Hit
	run   *runindex.Found
	words runindex.Words
}

// roles are whom a search can be narrowed to.
var roles = []string{"user", "assistant", "tool", "judge"}

// search answers with the texts in which words stand.
func (p *Pages) search(w http.ResponseWriter, r *http.Request) {
	page := searchPage{
		Page: p.frame.Base(r, "search", "Search"), Query: frame.QueryOf(r, "/search", searchParameters...),
		Roles: roles,
	}
	q := page.Query
	questions := questionsOf(q.Values["q"])
	var hits []hitIn
	left := false // true where hits may be left out
	runs, _ := p.Runs.Runs()
	fits := p.runFilters(frame.Query{Path: q.Path, Values: frame.Only(q.Values, "since")})
	for _, run := range runs {
		if len(questions) == 0 || !fits.all(run, "") || len(q.Values["run"]) > 0 && !p.namesRun(q.Values["run"], run) {
			continue
		}
		if left = left || len(hits) >= maxHits; left {
			break // also where the limit was reached at the end of a run: this one is not looked at
		}
		index, read, err := run.Await(r.Context(), p.Patience)
		if r.Context().Err() != nil {
			return // nobody waits for the page any more
		}
		if err != nil {
			page.Warnings = append(page.Warnings, "Run "+run.Record.ID+" cannot be read.")
			continue
		}
		if index == nil {
			page.Warnings = append(page.Warnings, "Run "+run.Record.ID+" could not be searched yet: "+
				text.Percent(read)+" of its results have been read.")
			continue
		}
		found, more, err := hitsIn(r.Context(), run, index, questions, q.Values, maxHits-len(hits))
		if r.Context().Err() != nil {
			return // nobody waits for the page any more
		}
		if err != nil {
			page.Warnings = append(page.Warnings, "Run "+run.Record.ID+
				" could not be searched: its results are just being written anew.")
			continue
		}
		hits = append(hits, found...)
		left = left || more
	}
	if left {
		page.Warnings = append(page.Warnings, "There may be more hits than the "+text.Count(len(hits))+
			" that are listed: narrow the search.")
	}
	var first, last int
	page.List, first, last = q.Page("hits", len(hits))
	var err error
	if page.Rows, err = filled(r.Context(), hits[first:last]); err != nil {
		p.anew(w, r)
		return
	}
	switch {
	case len(runs) == 0:
		page.List.Empty = "There are no runs to search. `rehearse run SUITE` makes one."
	case len(questions) == 0:
		page.List.Empty = "Type words to look for in messages, ids and reasons of failures."
	case len(hits) == 0:
		page.List.Empty = "The words stand in no text that fits."
		for _, name := range []string{"role", "run", "suite", "target", "verdict", "since", "q"} {
			if values := q.Values[name]; len(values) > 0 {
				page.List.Drop = append(page.List.Drop, frame.Link{
					Label:   "Drop " + name + "=" + text.OneLine(strings.Join(values, ", "), 80),
					Address: q.With(name, ""),
				})
			}
		}
	}
	p.frame.Show(w, http.StatusOK, "search", page)
}

// questionsOf reads what is looked for: one of several questions must fit. Those without words ask nothing.
func questionsOf(written []string) (questions []runindex.Words) {
	for _, q := range written {
		if words := runindex.ParseWords(q); len(words) > 0 {
			questions = append(questions, words)
		}
	}
	return questions
}

// hitsIn returns the texts of a run that fit one of the questions, at most so many; more is true where there may be
// others.
func hitsIn(ctx context.Context, run *runindex.Found, index *runindex.Index, questions []runindex.Words, q url.Values,
	most int) (hits []hitIn, more bool, err error) {
	chosen := func(row *runindex.Row) bool {
		return among(q["suite"], row.Suite) && among(q["target"], row.Target) &&
			among(q["verdict"], string(row.Verdict))
	}
	seen := map[runindex.Position]bool{}
	for _, words := range questions {
		found, others, err := run.Hits(ctx, index, words, q["role"], most-len(hits), chosen)
		if err != nil {
			return nil, false, err
		}
		for _, h := range found {
			if !seen[h.Position()] {
				seen[h.Position()] = true
				hits = append(hits, hitIn{h, run, words})
			}
		}
		more = more || others
	}
	return hits, more, nil
}

// filled reads the texts of hits, which are as many as a page shows.
func filled(ctx context.Context, hits []hitIn) (rows []hitRow, err error) {
	for from := 0; from < len(hits); {
		to := from
		var of []runindex.Hit
		for ; to < len(hits) && hits[to].run == hits[from].run; to++ {
			of = append(of, hits[to].Hit)
		}
		if err := hits[from].run.Fill(ctx, of); err != nil {
			return nil, err
		}
		for i, h := range of {
			rows = append(rows, hitOf(hits[from+i].run.Record.ID, h, hits[from+i].words))
		}
		from = to
	}
	return rows, nil
}

// among reports whether a value is one of those that were asked for; of none all are.
func among(values []string, value string) bool {
	return len(values) == 0 || slices.Contains(values, value)
}

// namesRun reports whether one of some ids, or latest, is a run's.
func (p *Pages) namesRun(ids []string, run *runindex.Found) bool {
	return slices.ContainsFunc(ids, func(id string) bool {
		found := p.Runs.Find(id)
		return found != nil && found.Record.ID == run.Record.ID
	})
}

// around is how many words stand before and behind the first that was found.
const around = 12

func hitOf(run string, h runindex.Hit, words runindex.Words) hitRow {
	var trials []string
	if h.Trial > 0 {
		trials = []string{strconv.Itoa(h.Trial)}
	}
	row := hitRow{
		Hit: h, Run: run,
		Address: addressOfTest(run, runindex.Test{Suite: h.Suite, ID: h.TestID, Target: h.Target}, trials, ""),
	}
	if h.Turn > 0 {
		row.Address = atTurn(row.Address, h.Turn)
	}
	row.Sentence = sentence(h.Text, words)
	return row
}

// sentence returns the surroundings of the first words that were found, with all that were found marked.
func sentence(said string, words runindex.Words) template.HTML {
	said, _ = text.Cut(said, maxText)
	all := strings.Fields(said)
	marks := make([]bool, len(all))
	first := -1
	for i := range all {
		for _, t := range words {
			if n := t.Begins(all[i:]); n > 0 {
				for j := range n {
					marks[i+j] = true
				}
				if first < 0 {
					first = i
				}
			}
		}
	}
	from := max(0, first-around)
	to := min(len(all), max(first, 0)+2*around)
	var b strings.Builder
	if from > 0 {
		b.WriteString("… ")
	}
	for i := from; i < to; i++ {
		word := template.HTMLEscapeString(text.OneLine(all[i], 100))
		if marks[i] {
			word = "<mark>" + word + "</mark>"
		}
		if i > from {
			b.WriteByte(' ')
		}
		b.WriteString(word)
	}
	if to < len(all) {
		b.WriteString(" …")
	}
	return template.HTML(b.String()) //nolint:gosec // every word is escaped
}
