package pages

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/data/dataset"
	"github.com/rehearse-dev/rehearse/internal/report/transcript"
	"github.com/rehearse-dev/rehearse/internal/run/runindex"
	"github.com/rehearse-dev/rehearse/internal/web/pages/frame"
)

// datasetsPage lists datasets, or the items of one.
type datasetsPage struct {
	frame.Page
	Query frame.Query
	List  frame.List
	Rows  []datasetRow
	Items []itemRow
	Name  string
}

type datasetRow struct {
	dataset.Entry
	Address string
}

// itemRow is an item of a dataset.
type itemRow struct {
	ID                        string
	Input, Expected, Metadata string
}

// datasets answers with the datasets of the store.
func (p *Pages) datasets(w http.ResponseWriter, r *http.Request) {
	page := datasetsPage{
		Page: p.frame.Base(r, "datasets", "Datasets"), Query: frame.QueryOf(r, "/datasets", "q", "page", "per"),
	}
	store, ok := p.stored(w, r)
	if !ok {
		return
	}
	var all []dataset.Entry
	if store != nil {
		var err error
		if all, err = store.Datasets.List(r.Context()); err != nil {
			p.away(w, r, err)
			return
		}
	}
	fits := fitsWords(page.Query)
	kept := slices.DeleteFunc(slices.Clone(all), func(e dataset.Entry) bool {
		return !fits(e.Name + " " + e.Description)
	})
	var first, last int
	page.List, first, last = page.Query.Page("datasets", len(kept))
	for _, e := range kept[first:last] {
		page.Rows = append(page.Rows, datasetRow{e, "/datasets/" + frame.Segment(e.Name)})
	}
	switch {
	case len(all) == 0:
		page.List.Empty = "There are no datasets yet. `rehearse dataset push` makes one of a file, " +
			"`rehearse dataset add` of a conversation."
	case len(kept) == 0:
		page.List.Empty, page.List.Drop = "No dataset fits.", []frame.Link{{
			Label:   "Drop q=" + text.OneLine(strings.Join(page.Query.Values["q"], ", "), 80),
			Address: page.Query.With("q", ""),
		}}
	}
	p.frame.Show(w, http.StatusOK, "datasets", page)
}

// fitsWords returns what tells whether the words of one of the questions of a query stand in a text.
func fitsWords(q frame.Query) func(text string) bool {
	var questions []runindex.Words
	for _, value := range q.Values["q"] {
		questions = append(questions, runindex.ParseWords(value))
	}
	return func(text string) bool {
		return len(questions) == 0 || slices.ContainsFunc(questions, func(words runindex.Words) bool {
			return words.Fit(text)
		})
	}
}

// maxItems bounds how many items of a dataset are looked through.
const maxItems = 200_000

// dataset answers with the items of a dataset.
func (p *Pages) dataset(w http.ResponseWriter, r *http.Request) {
	store, ok := p.stored(w, r)
	if !ok {
		return
	}
	name := frame.Part(r, "name")
	address := "/datasets/" + frame.Segment(name)
	page := datasetsPage{
		Page:  p.frame.Base(r, "dataset", "Dataset "+text.OneLine(name, 200)),
		Query: frame.QueryOf(r, address, "q", "page", "per"), Name: name,
	}
	page.Trail = []frame.Link{{Label: "Datasets", Address: "/datasets", Up: true}}
	total, fitting := 0, 0
	if store == nil {
		p.frame.NotFound(w, r, "There is no dataset of that name.", page.Trail...)
		return
	}
	fits := fitsWords(page.Query)
	_, first, last := page.Query.Page("items", maxItems)
	for item, err := range store.Datasets.Items(r.Context(), name) {
		switch {
		case errors.Is(err, dataset.ErrUnknown):
			p.frame.NotFound(w, r, "There is no dataset of that name.", page.Trail...)
			return
		case err != nil:
			p.away(w, r, err)
			return
		}
		if total++; total > maxItems {
			page.Warnings = append(page.Warnings, "The dataset has more items than are listed.")
			break
		}
		if !fits(strings.Join([]string{
			item.ID, runindex.Plain(item.Input), runindex.Plain(item.Expected), runindex.Plain(item.Metadata),
		}, "\n")) {
			continue
		}
		if fitting++; first < fitting && fitting <= last {
			page.Items = append(page.Items, itemRow{
				item.ID, transcript.Pretty(item.Input), transcript.Pretty(item.Expected),
				transcript.Pretty(item.Metadata),
			})
		}
	}
	page.List, _, _ = page.Query.Page("items", fitting)
	switch {
	case total == 0:
		page.List.Empty = "The dataset is empty. `rehearse dataset push` and `rehearse dataset add` put items into it."
	case fitting == 0:
		page.List.Empty, page.List.Drop = "No item fits.", []frame.Link{{
			Label:   "Drop q=" + text.OneLine(strings.Join(page.Query.Values["q"], ", "), 80),
			Address: page.Query.With("q", ""),
		}}
	}
	p.frame.Show(w, http.StatusOK, "dataset", page)
}
