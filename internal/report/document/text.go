package document

import (
	"io"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Limits of a terminal: rows of a table, lines of a list, names in one line.
const (
	textRows  = 200
	textLines = 20
	textNames = 10
	nameWidth = 12 // of a fact
)

// Text writes a document for a terminal of that width, 80 if it is 0: the details, then the outcome and the sections.
// With colour it uses ANSI escapes.
func Text(w io.Writer, d *Document, width int, colour bool) error {
	p := newPrinter(w, width, colour)
	if err := p.details(d); err != nil {
		return err
	}
	if d.Warning != "" {
		p.wrap("Warning: ", "", line(d.Warning))
		p.line()
	}
	_, verdictColour := mark(d.Verdict)
	p.wrap("", bold+";"+verdictColour, text.Capital(line(d.Headline)))
	if d.Verbatim != "" {
		for verbatim := range strings.Lines(d.Verbatim) {
			p.line(text.Visible(strings.TrimSuffix(verbatim, "\n")))
		}
		p.line()
	}
	p.counts(d.Counts)
	answer, named := d.lead()
	p.wrap("", "", line(answer))
	for _, f := range named {
		p.wrap("", "", label(f.Name)+line(f.Value))
	}
	facts := slices.Concat(d.About, d.facts())
	names := nameWidth
	for _, f := range facts {
		names = max(names, text.Width(f.Name))
	}
	for _, f := range facts {
		p.fact(f, names)
	}
	begun := d.Headline != ""
	for i := range d.Sections {
		if s := &d.Sections[i]; s.has(OnTerminal) {
			if begun {
				p.line()
			}
			p.section(s)
			begun = true
		}
	}
	return p.Flush()
}

// lead returns the answer with the texts that belong to it, and the other texts that explain the headline.
func (d *Document) lead() (answer string, named []Fact) {
	var parts []string
	if d.Answer != "" {
		parts = append(parts, sentence(d.Answer))
	}
	for _, f := range d.Lead {
		if f.Name == "" {
			parts = append(parts, sentence(f.Value))
		} else if f.Value != "" {
			named = append(named, f)
		}
	}
	return strings.Join(parts, " "), named
}

// label returns a name to stand before its text.
func label(name string) string {
	if strings.HasSuffix(name, "?") {
		return line(name) + " "
	}
	return line(name) + ": "
}

func (p *printer) details(d *Document) error {
	if d.Details == nil {
		return nil
	}
	written, spaced := 0, true
	for s, err := range d.Details {
		if err != nil {
			return err
		}
		spaced = p.detail(s)
		written++
	}
	if d.Rest != nil {
		if rest := d.Rest(written); rest != "" {
			p.wrap("", "", rest)
			spaced = false
		}
	}
	if !spaced {
		p.line()
	}
	return nil
}

// detail writes a test with what explains its verdict, and reports whether a blank line ends it.
func (p *printer) detail(s *Section) bool {
	sign, colour := mark(s.Verdict)
	name, side := text.OneLine(s.Title, 200), line(s.Side)
	if gap := p.width - 2 - text.Width(name) - text.Width(side); gap >= 2 {
		p.line(p.in(colour, sign), " ", p.in(bold, name), strings.Repeat(" ", gap), p.in(dim, side))
	} else {
		p.wrap(p.in(colour, sign)+" ", bold, name)
		p.wrap("  ", dim, side)
	}
	p.wrap("  ", dim, text.OneLine(s.From, 300))
	for i := range s.Lists {
		p.list("    ", &s.Lists[i])
	}
	for _, note := range s.Notes {
		p.wrap("    ", "", line(note))
	}
	for _, m := range s.Transcript {
		p.wrap("    ", "", line(string(m.Role))+": "+text.OneLine(m.Content.String(), maxMessage))
	}
	for _, unwrapped := range s.Plain {
		p.line("    ", p.in(dim, text.OneLine(unwrapped, 1_000)))
	}
	if len(s.Lists)+len(s.Plain) == 0 {
		return false
	}
	p.line()
	return true
}

// counts writes how many tests have each verdict, in the verdicts' colours where the line fits.
func (p *printer) counts(counts []Count) {
	var parts []string
	for _, c := range counts {
		_, colour := mark(c.Verdict)
		if c.Verdict == result.Ungraded {
			colour = yellow
		}
		parts = append(parts, p.in(colour, c.Name+" "+text.Count(c.N)))
	}
	all := strings.Join(parts, "   ")
	if bare := plain(all); text.Width(bare) > p.width-2 {
		p.wrap("  ", "", bare)
	} else if all != "" {
		p.line("  ", all)
	}
}

func (p *printer) fact(f Fact, width int) {
	if f.Value == "" {
		return
	}
	value := line(f.Value)
	if f.Note != "" {
		value += " (" + line(f.Note) + ")"
	}
	name := line(f.Name)
	p.wrap("  "+name+strings.Repeat(" ", max(width-text.Width(name), 0))+" ", "", value)
}

func (p *printer) section(s *Section) {
	p.wrap("", bold, line(s.Title))
	p.wrap("  ", "", line(s.Lead))
	for i := range s.Tables {
		p.table(&s.Tables[i])
	}
	for i := range s.Lists {
		p.list("  ", &s.Lists[i])
	}
	for _, note := range s.Notes {
		p.wrap("  ", "", line(note))
	}
}

// list writes names in one line, and other entries on a line each.
func (p *printer) list(indent string, l *List) {
	if l.empty() {
		return
	}
	title := line(l.Title)
	if l.Meaning != "" {
		title += " (" + line(l.Meaning) + ")"
	}
	if l.Count != "" {
		title += ": " + line(l.Count)
	}
	most := textLines
	if l.isNames() {
		most = textNames
	}
	shown := l.Entries[:min(len(l.Entries), most)]
	left := l.Left + len(l.Entries) - len(shown)
	if l.isNames() {
		names := make([]string, 0, most+1)
		for _, e := range shown {
			names = append(names, line(e.Text))
		}
		if left > 0 {
			names = append(names, more(left, l.Noun, l.Elsewhere))
		}
		p.wrap(indent, "", title+": "+strings.Join(names, ", "))
		return
	}
	if title != "" {
		p.wrap(indent, bold, title)
		indent += "  "
	}
	for i := range shown {
		p.entry(indent, &shown[i])
	}
	if left > 0 {
		p.wrap(indent, "", more(left, l.Noun, l.Elsewhere))
	}
}

func (p *printer) entry(indent string, e *Entry) {
	if e.Code != "" {
		p.line(indent, p.in(red, line(e.Code)), p.in(dim, strings.TrimRight(" "+line(e.Note), " ")))
		p.wrap(indent+"  ", "", line(e.Text))
		return
	}
	written := line(e.Text)
	if e.Note != "" {
		written = strings.TrimSpace(written + "  " + line(e.Note))
	}
	lead := indent
	if e.Verdict != "" {
		sign, colour := mark(e.Verdict)
		lead += p.in(colour, sign) + " "
	}
	p.wrap(lead, "", written)
	p.wrap(indent+"  ", dim, line(e.From))
}

// table writes a table in columns. One that is wider than the terminal has a paragraph for each row, so that nothing is
// cut.
func (p *printer) table(t *Table) {
	const indent = "  "
	columns := t.shown()
	if len(columns) == 0 {
		return
	}
	rows := t.Rows[:min(len(t.Rows), textRows)]
	p.wrap(indent, bold, line(t.Title))
	lines, aside := p.aligned(t, rows, columns, true)
	if !p.fits(lines, indent) {
		lines, aside = p.aligned(t, rows, columns, false)
	}
	switch {
	case p.fits(lines, indent):
		if strings.TrimSpace(lines[0]) != "" {
			p.line(indent, p.in(dim, lines[0]))
		}
		for i, row := range lines[1:] {
			p.line(indent, row)
			if !aside {
				p.wrap(indent+"    ", dim, notesOf(t, &rows[i], columns))
			}
		}
	default:
		for i := range rows {
			p.paragraph(indent, t, &rows[i], columns)
		}
	}
	if left := t.Left + len(t.Rows) - len(rows); left > 0 {
		p.wrap(indent, "", more(left, t.Noun, t.Elsewhere))
	}
}

func (p *printer) fits(lines []string, indent string) bool {
	return !slices.ContainsFunc(lines, func(s string) bool { return text.Width(s)+len(indent) > p.width })
}

// aligned returns the lines of a table, its head first. With notes those of the first column are the last column, if no
// other column has any: aside reports whether the lines have them.
func (p *printer) aligned(t *Table, rows []Row, columns []int, notes bool) (lines []string, aside bool) {
	aside = notes
	for i := range rows {
		for _, c := range columns[1:] {
			aside = aside && rows[i].Cells[c].Note == ""
		}
	}
	cells := make([][]string, 0, len(rows)+1)
	var head []string
	for _, c := range columns {
		head = append(head, line(t.Columns[c].Name))
	}
	cells = append(cells, head)
	for i := range rows {
		var row []string
		for n, c := range columns {
			written := cellText(&rows[i].Cells[c])
			if n == 0 {
				written = strings.Repeat("  ", rows[i].Level) + written
			}
			row = append(row, written)
		}
		if aside {
			row = append(row, line(rows[i].Cells[columns[0]].Note))
		}
		cells = append(cells, row)
	}
	right := func(column int) bool { return column < len(columns) && t.Columns[columns[column]].Number }
	return text.Table(cells, right), aside
}

func (p *printer) paragraph(indent string, t *Table, row *Row, columns []int) {
	first := row.Cells[columns[0]]
	lead := indent + strings.Repeat("  ", row.Level)
	if first.Verdict != "" {
		sign, colour := mark(first.Verdict)
		lead += p.in(colour, sign) + " "
	}
	rest := columns[1:]
	if first.Text == "" && len(rest) > 0 { // a column of signs
		first, rest = row.Cells[rest[0]], rest[1:]
	}
	p.wrap(lead, bold, line(first.Text))
	var parts []string
	for _, c := range rest {
		if written := cellText(&row.Cells[c]); written != "" {
			parts = append(parts, strings.TrimSpace(line(t.Columns[c].Name)+" "+written))
		}
	}
	p.wrap(indent+"    ", "", strings.Join(parts, " · "))
	p.wrap(indent+"    ", dim, notesOf(t, row, columns))
}

// cellText is a cell as it is in a line: its sign and its text.
func cellText(c *Cell) string {
	if c.Verdict == "" {
		return line(c.Text)
	}
	sign, _ := mark(c.Verdict)
	return strings.TrimSpace(sign + " " + line(c.Text))
}

// notesOf joins the small print of a row. That of a number follows the name of its column.
func notesOf(t *Table, row *Row, columns []int) string {
	var notes []string
	for _, c := range columns {
		note := line(row.Cells[c].Note)
		if note == "" {
			continue
		}
		if column := t.Columns[c]; column.Number {
			note = strings.ToLower(line(column.Name)) + " " + note
		}
		notes = append(notes, note)
	}
	return strings.Join(notes, " · ")
}
