package report

import (
	"maps"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/report/document"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// maxMatrix is how many tests are in a table that has a column for each target.
const maxMatrix = 200

// targetSections compares the targets of a run with several; nil for another run. Brief leaves out the single tests.
func targetSections(run result.Run, s *survey, brief bool) []document.Section {
	if len(run.ByTarget) == 0 {
		return nil
	}
	t := document.Table{Columns: document.Columns(
		2, "Target", "Pass rate", "Mean score", "Passed", "Failed", "Errors", "Not graded", "Skipped", "Not run",
		"Cost")}
	names := slices.Sorted(maps.Keys(run.ByTarget))
	for _, name := range names {
		of := run.ByTarget[name]
		n, rate, mean, note := of.Totals, "-", "-", ""
		if of.Bounds != nil {
			words := RateOf(n, of.PassRate)
			rate, mean, note = words.Value, MeanScore(n), words.Note
		}
		row := document.Words(text.OneLine(name, 100), rate, mean, text.Count(n.Passed), text.Count(n.Failed),
			text.Count(n.Errors), text.Count(n.Ungraded), text.Count(n.Skipped), text.Count(n.NotRun), dollars(n.Cost))
		row.Cells[1].Note = note
		t.Rows = append(t.Rows, row)
	}
	for column := len(t.Columns) - 1; column > 4; column-- { // in which nothing happened
		if !slices.ContainsFunc(t.Rows, func(r document.Row) bool {
			return r.Cells[column].Text != "0" &&
				r.Cells[column].Text != ""
		}) {
			t.Columns = slices.Delete(t.Columns, column, column+1)
			for i := range t.Rows {
				t.Rows[i].Cells = slices.Delete(t.Rows[i].Cells, column, column+1)
			}
		}
	}
	sections := []document.Section{{ID: "targets", Title: "Targets", Nav: "Targets", Tables: []document.Table{t}}}
	if len(names) > 1 && !brief {
		sections = append(sections, document.Section{
			ID: "matrix", Title: "Tests by target", Tables: []document.Table{matrixOf(s, names)},
			In: document.OnTerminal | document.InMarkdown, // a page has the conversations
		})
	}
	return sections
}

// matrixOf has a row for each test and a column for each target. Tests that need a look come first; a cell is empty
// where the test was not planned with the target.
func matrixOf(s *survey, targets []string) document.Table {
	t := document.Table{Columns: document.Columns(1+len(targets), "Test"), Noun: "test", Elsewhere: ": see report.html"}
	for _, name := range targets {
		t.Columns = append(t.Columns, document.Column{Name: text.OneLine(name, 60)})
	}
	rows := map[id]int{}
	for _, e := range slices.Concat(s.failing, s.others) {
		of := id{suite: e.suite, test: e.test}
		at, known := rows[of]
		switch {
		case known:
		case len(t.Rows) == maxMatrix:
			at = -1
			t.Left++
		default:
			at = len(t.Rows)
			cells := make([]document.Cell, 1+len(targets))
			cells[0] = document.Cell{Text: text.OneLine(e.test, 100), Note: text.OneLine(e.suite, 200)}
			t.Rows = append(t.Rows, document.Row{Cells: cells})
		}
		rows[of] = at
		if column := slices.Index(targets, e.target); at >= 0 && column >= 0 {
			said := word(e)
			if e.verdict.Graded() {
				said = score(e.score)
			}
			t.Rows[at].Cells[1+column] = document.Cell{Verdict: e.verdict, Text: said}
		}
	}
	return t
}

// word returns the verdict of a test that has no score.
func word(e *entry) string {
	if e.notRun {
		return "not run"
	}
	return document.VerdictWord(e.verdict)
}
