// Package document is the report of a run as data, and its writers: terminal, Markdown and HTML page. Suites,
// comparisons, classifications and replays fill a Document; a fact added to it is in every format. Texts in a document
// are untrusted: each writer makes them safe for its format.
package document

import (
	"fmt"
	"html"
	"html/template"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Format is a set of writers.
type Format uint8

// The writers.
const (
	OnTerminal Format = 1 << iota
	InMarkdown
	OnPage
)

// Document is a report.
type Document struct {
	// Kind, ID and At name what the report is about: a run, a replay.
	Kind, ID string
	At       time.Time
	Verdict  result.Verdict
	// Headline is the outcome in a sentence without its full stop. Answer, if any, is what it means for the reader: the
	// title of the page.
	Headline, Answer string
	// Unfinished leaves out the verdict's sign: the run has not ended as planned.
	Unfinished bool
	Warning    string
	// Lead explains the headline. A Fact without a name belongs to the answer.
	Lead []Fact
	// About names what was evaluated.
	About  []Fact
	Rate   *Rate
	Counts []Count
	Facts  []Fact
	// Verbatim is printed as it is, on a terminal only.
	Verbatim string
	Sections []Section
	// Details explain single tests, the most important first, and are read until the writer has enough. Rest returns
	// the sentence about those that were not written. Both may be nil; a page has Body instead.
	Details iter.Seq2[*Section, error]
	Rest    func(written int) string
	Body    func(io.Writer) error
	// Foot is about how the run was started and how it ended. Signature ends the Markdown.
	Foot      []Fact
	Signature string
}

// Fact is a value with its name and what it is to be read with.
type Fact struct{ Name, Value, Note string }

// Rate is a share with its interval. A page has it next to the headline; elsewhere it is the first fact.
type Rate struct {
	Fact
	Bar *Bar
}

// Count is how many tests have a verdict.
type Count struct {
	Name    string
	Verdict result.Verdict
	N       int
}

// Section is a part of a document, or a detail: one test with what explains its verdict.
type Section struct {
	ID, Title string
	// Nav is the link to the section at the top of a page; empty for none.
	Nav string
	// In are the formats that have the section; 0 is all of them.
	In Format
	// Fold hides the section behind its title where the format can.
	Fold   bool
	Lead   string
	Tables []Table
	Lists  []List
	Notes  []string
	// Draw is what only a page has; it stands above the tables.
	Draw template.HTML

	// A detail has a verdict, an address, the text next to its title, where it is from, and its conversation. Plain
	// lines are not wrapped, so that a terminal recognizes links.
	Verdict    result.Verdict
	Link       string
	Side, From string
	Plain      []string
	Transcript []chat.Message
}

// Table is a table. A column whose cells are all empty is left out.
type Table struct {
	Title   string
	Columns []Column
	Rows    []Row
	Fold    bool
	// Left counts rows that are not in Rows, Noun names one row, and Elsewhere where all are, such as ": see run.json".
	Left            int
	Noun, Elsewhere string
}

// Column is the head of a column. Numbers are aligned to the right.
type Column struct {
	Name   string
	Number bool
}

// Row is a row of a table. Attr are data attributes on a page. Level indents a part of the row above.
type Row struct {
	Cells []Cell
	Attr  template.HTMLAttr
	Level int
}

// Cell is a cell of a table. Note is small print; Bar and Draw are on a page only.
type Cell struct {
	Text, Note   string
	Verdict      result.Verdict
	Code, Strong bool
	Link         string
	Bar          *Bar
	Draw         template.HTML
}

// List names tests or sessions of one kind, or has sentences.
type List struct {
	ID, Title string
	Verdict   result.Verdict
	// Meaning is what the entries have in common. Count is how many there are, or why that is unknown.
	Meaning, Count string
	Entries        []Entry
	// Left counts entries that are not in Entries; Noun and Elsewhere are as in a Table.
	Left            int
	Noun, Elsewhere string
	Open            bool
	Attr            template.HTMLAttr
}

// Entry is an entry of a list. An entry with nothing but its text is a name; one with a code has its source as the
// note.
type Entry struct {
	Text, Note, From string
	Code             string
	Verdict          result.Verdict
	Link             string
	Attr             template.HTMLAttr
}

// Columns returns the heads of a table: words for the first left columns, numbers for the others.
func Columns(left int, names ...string) []Column {
	columns := make([]Column, len(names))
	for i, name := range names {
		columns[i] = Column{name, i >= left}
	}
	return columns
}

// Words returns a row of plain cells.
func Words(texts ...string) Row {
	cells := make([]Cell, len(texts))
	for i, s := range texts {
		cells[i].Text = s
	}
	return Row{Cells: cells}
}

// Data returns data attributes: names, each followed by its value. The names must be constants.
func Data(pairs ...string) template.HTMLAttr {
	var b strings.Builder
	for i := 0; i+1 < len(pairs); i += 2 {
		fmt.Fprintf(&b, ` %s="%s"`, pairs[i], html.EscapeString(pairs[i+1]))
	}
	return template.HTMLAttr(b.String())
}

// facts returns the facts with the rate before them.
func (d *Document) facts() []Fact {
	if d.Rate == nil {
		return d.Facts
	}
	return append([]Fact{d.Rate.Fact}, d.Facts...)
}

// has reports whether a format has the section and something is in it.
func (s *Section) has(f Format) bool {
	empty := s.Lead == "" && len(s.Notes) == 0 && s.Draw == ""
	for i := range s.Tables {
		empty = empty && len(s.Tables[i].Rows) == 0
	}
	for i := range s.Lists {
		empty = empty && s.Lists[i].empty()
	}
	return (s.In == 0 || s.In&f != 0) && !empty
}

func (l *List) empty() bool { return len(l.Entries)+l.Left == 0 && l.Count == "" }

// isNames reports whether the entries are nothing but names.
func (l *List) isNames() bool {
	for i := range l.Entries {
		if e := &l.Entries[i]; e.Note != "" || e.Code != "" || e.Verdict != "" || e.From != "" ||
			len(e.Text) > maxName {
			return false
		}
	}
	return len(l.Entries) > 0
}

// maxName is the length of a text that may stand next to others in one line.
const maxName = 120

// shown returns the columns that have something in a format other than a page.
func (t *Table) shown() (columns []int) {
	for i := range t.Columns {
		for _, row := range t.Rows {
			if c := row.Cells[i]; c.Text != "" || c.Verdict != "" || c.Note != "" {
				columns = append(columns, i)
				break
			}
		}
	}
	return columns
}

// more returns the sentence about what is left out of a list or a table.
func more(left int, noun, elsewhere string) string {
	if noun == "" {
		return "… and " + text.Count(left) + " more" + elsewhere
	}
	return "… and " + text.Plural(left, "more "+noun) + elsewhere
}

// maxText bounds one text of a document.
const maxText = 4_000

func line(s string) string { return text.OneLine(s, maxText) }

// sentence ends a text with a full stop.
func sentence(s string) string {
	if s == "" || strings.ContainsAny(s[len(s)-1:], ".!?:") {
		return s
	}
	return s + "."
}
