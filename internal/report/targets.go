package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/report/page"
	"github.com/rehearse-dev/rehearse/internal/report/terminal"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// maxMatrix is how many tests stand in a table that has a column for each target.
const maxMatrix = 200

// targetRow is what a run found about one of its targets, in words.
type targetRow struct {
	Name, PassRate, MeanScore, Passed, Failed, Errors, Ungraded, Skipped, NotRun, Cost string
}

// targetTable returns the targets of a run as a table with a head. Columns in which nothing happened are left out.
func targetTable(run result.Run) [][]string {
	rows := [][]string{{"target", "pass rate", "mean score", "passed", "failed", "errors", "not graded", "skipped", "not run", "cost"}}
	for _, r := range targetRows(run) {
		rows = append(rows, []string{r.Name, r.PassRate, r.MeanScore, r.Passed, r.Failed, r.Errors, r.Ungraded, r.Skipped, r.NotRun, r.Cost})
	}
	for column := len(rows[0]) - 1; column > 2; column-- {
		if !slices.ContainsFunc(rows[1:], func(row []string) bool { return row[column] != "0" && row[column] != "" }) {
			for i := range rows {
				rows[i] = slices.Delete(rows[i], column, column+1)
			}
		}
	}
	return rows
}

// targetRows returns a row for each of several targets, in the order of their names; none for a run with one.
func targetRows(run result.Run) []targetRow {
	var rows []targetRow
	for _, name := range slices.Sorted(maps.Keys(run.ByTarget)) {
		of := run.ByTarget[name]
		t := of.Totals
		row := targetRow{
			Name: text.OneLine(name, 100), PassRate: "-", MeanScore: "-", Passed: text.Count(t.Passed), Failed: text.Count(t.Failed),
			Errors: text.Count(t.Errors), Ungraded: text.Count(t.Ungraded), Skipped: text.Count(t.Skipped), NotRun: text.Count(t.NotRun), Cost: dollars(t.Cost),
		}
		if of.Bounds != nil {
			rate := RateOf(t, of.PassRate)
			row.PassRate, row.MeanScore = fmt.Sprintf("%s (%s)", rate.Value, rate.Note), MeanScore(t)
		}
		rows = append(rows, row)
	}
	return rows
}

// matrix is a table with a row for each test and a column for each target.
type matrix struct {
	targets []string
	tests   []id // without a target
	cells   map[id]*entry
	left    int // tests left out
}

// matrixOf returns the table of a run with several targets, nil for another run. Tests that need a look come first.
func matrixOf(run result.Run, s *survey) *matrix {
	if len(run.ByTarget) < 2 {
		return nil
	}
	m := &matrix{targets: slices.Sorted(maps.Keys(run.ByTarget)), cells: map[id]*entry{}}
	seen := map[id]bool{}
	for _, e := range slices.Concat(s.failing, s.others) {
		m.cells[e.id] = e
		row := id{suite: e.suite, test: e.test}
		switch {
		case seen[row]:
		case len(m.tests) == maxMatrix:
			m.left++
		default:
			m.tests = append(m.tests, row)
		}
		seen[row] = true
	}
	return m
}

// at returns the verdict of a test with a target and what to say about it; a Skip without words where the test was not planned with it.
func (m *matrix) at(row id, target string) (result.Verdict, string) {
	row.target = target
	e := m.cells[row]
	switch {
	case e == nil:
		return result.Skip, ""
	case e.verdict.Graded():
		return e.verdict, score(e.score)
	}
	return e.verdict, word(e)
}

// word returns the verdict of a test that has no score.
func word(e *entry) string {
	if e.notRun {
		return "not run"
	}
	return page.VerdictWord(e.verdict)
}

// text writes the two tables of a run with several targets.
func (m *matrix) text(p paint, run result.Run, withTests bool) {
	if withTests {
		rows := [][]string{append([]string{"test"}, cut(m.targets, 24)...)}
		for _, row := range m.tests {
			line := []string{text.OneLine(row.test, 40)}
			for _, target := range m.targets {
				verdict, about := m.at(row, target)
				if about != "" {
					sign, _ := terminal.Mark(verdict)
					about = sign + " " + about
				}
				line = append(line, about)
			}
			rows = append(rows, line)
		}
		p.Table(rows, func(int) bool { return false })
		if m.left > 0 {
			p.Line("… and ", text.Plural(m.left, "more test"), ": see report.html")
		}
		p.Line()
	}
	p.Table(targetTable(run), func(column int) bool { return column > 1 })
	p.Line()
}

// markdown writes the two tables of a run with several targets.
func (m *matrix) markdown(b *strings.Builder, run result.Run) {
	line := func(cells []string) { fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | ")) }
	for i, cells := range targetTable(run) {
		cells[0] = text.Markdown(cells[0])
		if line(cells); i == 0 {
			line(slices.Repeat([]string{"---"}, len(cells)))
		}
	}
	b.WriteString("\n")
	head := []string{"Test"}
	for _, target := range cut(m.targets, 60) {
		head = append(head, text.Markdown(target))
	}
	line(head)
	line(slices.Repeat([]string{"---"}, len(head)))
	for i, row := range m.tests {
		if b.Len() > maxTableText {
			m.left += len(m.tests) - i
			break
		}
		cells := []string{testCell(row)}
		for _, target := range m.targets {
			verdict, about := m.at(row, target)
			if about != "" {
				about = page.Emoji(verdict) + " " + about
			}
			cells = append(cells, about)
		}
		line(cells)
	}
	b.WriteString("\n")
	if m.left > 0 {
		fmt.Fprintf(b, "… and %s, not in this table.\n\n", text.Plural(m.left, "more test"))
	}
}

func cut(names []string, most int) []string {
	short := make([]string, 0, len(names))
	for _, name := range names {
		short = append(short, text.OneLine(name, most))
	}
	return short
}
