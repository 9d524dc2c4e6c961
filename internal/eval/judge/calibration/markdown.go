package calibration

import (
	"io"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// Markdown writes the report as Markdown.
func (r *Report) Markdown(w io.Writer) error {
	p := printer{w: w}
	p.line("# Calibration of %s\n", text.Markdown(text.OneLine(r.Judge, 200)))
	if r.NotAsked > 0 {
		p.line("**Stopped: %s not asked about.**\n", text.Plural(r.NotAsked, "answer"))
	}
	p.line("**%s**\n", text.Markdown(r.verdict()))
	p.line("%s\n", text.Markdown(r.heading()))
	p.rows(append([][]string{{"figure", "value", "95 %"}}, r.summary()...))
	p.rows(r.confusion())
	p.rows(r.criteria())
	if len(r.Models) > 0 {
		p.rows(r.models())
	}
	p.list("The judge differs from people", r.Disagreements)
	p.list("The judge could not decide", r.UndecidedItems)
	lines := r.footer()
	for _, line := range lines[:len(lines)-1] { // the gate stands above
		p.line("- %s", text.Markdown(line))
	}
	return p.err
}

// rows writes a table whose first row is its head.
func (p *printer) rows(rows [][]string) {
	for i, row := range rows {
		cells := make([]string, len(row))
		for j, cell := range row {
			cells[j] = text.Markdown(cell)
		}
		p.line("| %s |", strings.Join(cells, " | "))
		if i == 0 {
			p.line("|%s", strings.Repeat("---|", len(row)))
		}
	}
	p.line("")
}

func (p *printer) list(what string, cases []Case) {
	if len(cases) == 0 {
		return
	}
	p.line("## %s (%d)\n", what, len(cases))
	for i, c := range cases {
		if i == shownCases {
			p.line("- … and %d more: `--format json` lists all", len(cases)-i)
			break
		}
		p.line("- **%s**: %s", text.Markdown(c.title()), text.Markdown(text.OneLine(c.said(), 400)))
	}
	p.line("")
}
