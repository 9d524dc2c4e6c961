package pages

import (
	"fmt"
	"net/http"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/run/runindex"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/web/pages/frame"
)

// runsParameters are the parameters of the page of runs.
var runsParameters = []string{"q", "suite", "target", "state", "verdict", "since", "page", "per"}

// runsPage lists runs.
type runsPage struct {
	frame.Page
	List    frame.List
	Query   frame.Query
	Rows    []runRow
	Suites  []string
	Targets []string
}

// runRow is a run in the list.
type runRow struct {
	ID, Address   string
	State, Reason string
	Verdict       result.Verdict
	Headline      string
	Record        result.Run
	Rate          frame.Figure
	History       []bar
	// Targets is how many targets the run has, where it has several: there is no rate over all of them.
	Targets int
}

// bar is one run of a sparkline: its place, and how high its pass rate is.
type bar struct {
	X, Y, Height float64
	Here, None   bool
}

// runs answers with the runs, newest first.
func (p *Pages) runs(w http.ResponseWriter, r *http.Request) {
	all, unreadable := p.Runs.Runs()
	page := runsPage{Page: p.frame.Base(r, "runs", "Runs"), Query: frame.QueryOf(r, "/runs", runsParameters...)}
	for _, folder := range unreadable {
		page.Warnings = append(page.Warnings, "The run.json of the folder "+text.OneLine(folder, 200)+
			" cannot be read.")
	}
	for _, run := range all {
		page.Warnings = append(page.Warnings, twin(run)...)
		page.Suites, page.Targets = union(page.Suites, run.Record.Suites), union(page.Targets, run.Record.Targets)
	}
	if more := len(page.Warnings) - maxFolderWarnings; more > 0 {
		page.Warnings = append(page.Warnings[:maxFolderWarnings],
			"The same holds for "+text.Plural(more, "more folder")+".")
	}
	fits := p.runFilters(page.Query)
	var kept []*runindex.Found
	for _, run := range all {
		if fits.all(run, "") {
			kept = append(kept, run)
		}
	}
	var first, last int
	page.List, first, last = page.Query.Page("runs", len(kept))
	for _, run := range kept[first:last] {
		page.Rows = append(page.Rows, p.rowOfRun(run, all))
	}
	switch {
	case len(all) == 0:
		page.List.Empty = "There are no runs yet. `rehearse run SUITE` makes one, and it appears here; " +
			"`rehearse init` writes a suite to begin with."
	case len(kept) == 0:
		page.List.Empty = "No run fits these filters."
		page.List.Drop = dropped(page.Query, fits, all)
	}
	p.frame.Show(w, http.StatusOK, "runs", page)
}

// twin warns of a run whose id another run has, too: a copy that was changed.
func twin(run *runindex.Found) []string {
	if run.Twin == "" {
		return nil
	}
	return []string{
		"The folder " + text.OneLine(run.Twin, 200) + " is also one of run " + text.OneLine(run.Record.ID, 80) +
			", with other figures. Those of the folder " + text.OneLine(filepath.Base(run.Dir), 200) + " are shown.",
	}
}

// maxFolderWarnings is how many folders are named of which something cannot be shown.
const maxFolderWarnings = 20

// union adds the values that a list lacks, up to a number that a person can choose from.
func union(list, more []string) []string {
	for _, s := range more {
		if len(list) < 200 && !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// record returns the record of a run with its totals, which are counted from the log while it goes on.
func record(run *runindex.Found) result.Run {
	if run.Record.ExitCode != nil && run.Record.Totals.Tests > 0 {
		return run.Record
	}
	if index, err := run.Index(); err == nil {
		of := index.Run
		of.ID = run.Record.ID
		return of
	}
	return run.Record
}

func (p *Pages) rowOfRun(run *runindex.Found, all []*runindex.Found) runRow {
	of := record(run)
	row := runRow{
		ID: of.ID, Address: addressOfRun(of.ID), Verdict: verdictOf(of), Headline: headline(of), Record: of,
		Rate: rateFigure(of.Totals, of.PassRate),
	}
	row.State, row.Reason = stateOf(of)
	if n := max(len(of.Targets), len(of.ByTarget)); n > 1 {
		row.Targets = n
	}
	row.History = history(run, all)
	return row
}

// history draws the pass rates of the last 20 runs of the same suites and targets up to this one, oldest first.
func history(run *runindex.Found, all []*runindex.Found) (bars []bar) {
	var same []*runindex.Found
	for _, other := range all {
		if !other.Record.StartedAt.After(run.Record.StartedAt) &&
			slices.Equal(other.Record.Suites, run.Record.Suites) &&
			slices.Equal(other.Record.Targets, run.Record.Targets) && len(same) < 20 {
			same = append(same, other)
		}
	}
	slices.Reverse(same)
	for i, other := range same {
		b := bar{X: float64(i * 5), Y: 18, Height: 2, Here: other == run, None: other.Record.Rate == nil}
		if rate := other.Record.Rate; rate != nil {
			b.Height = 2 + 18**rate
			b.Y = 20 - b.Height
		}
		bars = append(bars, b)
	}
	return bars
}

// runFilters are the filters of the page of runs.
func (p *Pages) runFilters(q frame.Query) filters[*runindex.Found] {
	var fs filters[*runindex.Found]
	fs.add(q, "q", func(run *runindex.Found, value string) bool { return runHas(run.Record, value) })
	fs.add(q, "suite", func(run *runindex.Found, value string) bool {
		return slices.ContainsFunc(run.Record.Suites, func(s string) bool {
			return s == value || path.Base(s) == value
		})
	})
	fs.add(q, "target", func(run *runindex.Found, value string) bool {
		return slices.Contains(run.Record.Targets, value)
	})
	fs.add(q, "state", func(run *runindex.Found, value string) bool {
		state, _ := stateOf(run.Record)
		return state == value
	})
	fs.add(q, "verdict", func(run *runindex.Found, value string) bool { return string(verdictOf(run.Record)) == value })
	fs.add(q, "since", func(run *runindex.Found, value string) bool {
		since, ok := sinceOf(value, p.Now())
		return ok && !run.Record.StartedAt.Before(since)
	})
	return fs
}

// runHas reports whether all words stand in what names a run.
func runHas(run result.Run, words string) bool {
	about := runindex.Fold(
		strings.Join(slices.Concat([]string{run.ID, run.Judge, run.Commit}, run.Suites, run.Targets), "\n"))
	for word := range strings.FieldsSeq(runindex.Fold(words)) {
		if !strings.Contains(about, word) {
			return false
		}
	}
	return true
}

// sinceOf reads an age, such as 7d or 12h, or a date.
func sinceOf(value string, now time.Time) (time.Time, bool) {
	if days, ok := strings.CutSuffix(value, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 && n < 100_000 {
			return now.AddDate(0, 0, -n), true
		}
	}
	if age, err := time.ParseDuration(value); err == nil && age >= 0 {
		return now.Add(-age), true
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, value); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// dropped are links without one of the filters each, as far as they show more.
func dropped[T any](q frame.Query, fs filters[T], all []T) (links []frame.Link) {
	for _, f := range fs {
		n := 0
		for _, x := range all {
			if fs.all(x, f.name) {
				n++
			}
		}
		label := fmt.Sprintf("Drop %s=%s", f.name, text.OneLine(strings.Join(q.Values[f.name], ", "), 80))
		links = append(links, frame.Link{
			Label: fmt.Sprintf("%s: %s", label, text.Count(n)), Address: q.With(f.name, ""),
		})
	}
	return links
}
