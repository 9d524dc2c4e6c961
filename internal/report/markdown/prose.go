// Package markdown shows what somebody wrote, as Markdown or as it is, with the pieces marked on which graders decided. What it returns loads nothing,
// leads nowhere and runs nothing: links and pictures become their words and the address as text, HTML is shown as text, and characters that do
// something other than show themselves are made visible.
package markdown

import (
	"html"
	"html/template"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// Mark is a piece of a text on which a grader decided. From and To count code points.
type Mark struct {
	From, To int
	Grader   string
}

// After returns the marks of what stands behind so many code points.
func After(marks []Mark, n int) (behind []Mark) {
	for _, m := range marks {
		if m.To > n {
			behind = append(behind, Mark{max(0, m.From-n), m.To - n, m.Grader})
		}
	}
	return behind
}

// maxMarks bounds the marks of one text.
const maxMarks = 64

// maxDepth bounds how deep quotations, lists and emphasis are nested; what is deeper is shown as text.
const maxDepth = 6

// Markdown renders a text as Markdown. hidden is true where a marked piece has no character that is shown: it is markup, such as the signs around a
// word in bold.
func Markdown(s string, marks []Mark) (shown template.HTML, hidden bool) {
	w := newWriter(marks)
	w.blocks(linesOf(s), 0)
	w.unmark()
	return template.HTML(w.out.String()), slices.Contains(w.seen, false) //nolint:gosec // the writer escapes every character of the text
}

// Plain shows the characters of a text.
func Plain(s string, marks []Mark) template.HTML {
	w := newWriter(marks)
	w.text(cellsOf(s))
	w.unmark()
	return template.HTML(w.out.String()) //nolint:gosec // the writer escapes every character of the text
}

// layout are the elements and line breaks that change nothing but how a text is laid out.
var layout = strings.NewReplacer("<p>", "", "</p>", "", "<br>", "", "\n", "")

// Formatted reports whether Markdown shows other characters than the text has, or gives some of them a meaning.
func Formatted(s string) bool {
	shown, _ := Markdown(s, nil)
	return layout.Replace(string(shown)) != layout.Replace(string(Plain(s, nil)))
}

// cell is a character of the text with its place among the code points.
type cell struct {
	r  rune
	at int
}

func cellsOf(s string) []cell {
	cells := make([]cell, 0, len(s))
	for _, r := range s {
		cells = append(cells, cell{r, len(cells)})
	}
	return cells
}

// linesOf cuts a text into lines without their breaks.
func linesOf(s string) (lines [][]cell) {
	cells, from := cellsOf(s), 0
	for i, c := range cells {
		if c.r == '\n' {
			lines = append(lines, withoutReturn(cells[from:i]))
			from = i + 1
		}
	}
	return append(lines, withoutReturn(cells[from:]))
}

func withoutReturn(line []cell) []cell {
	if n := len(line); n > 0 && line[n-1].r == '\r' {
		return line[:n-1]
	}
	return line
}

// writer writes elements and escaped text. Marks that are open are closed before an element begins or ends, and opened again at the next character.
type writer struct {
	out   strings.Builder
	marks []Mark
	seen  []bool // of each mark, whether a character of it was written
	open  []int  // of marks
}

func newWriter(marks []Mark) *writer {
	w := &writer{}
	for _, m := range marks {
		if m.From < m.To && len(w.marks) < maxMarks {
			w.marks = append(w.marks, m)
		}
	}
	w.seen = make([]bool, len(w.marks))
	return w
}

// tag writes an element's beginning or end.
func (w *writer) tag(tag string) {
	w.unmark()
	w.out.WriteString(tag)
}

func (w *writer) unmark() {
	for range w.open {
		w.out.WriteString("</mark>")
	}
	w.open = w.open[:0]
}

// text writes characters as they are.
func (w *writer) text(cells []cell) {
	for i := 0; i < len(cells); {
		covering := w.covering(cells[i].at)
		end := i + 1
		for end < len(cells) && (len(w.marks) == 0 || slices.Equal(covering, w.covering(cells[end].at))) {
			end++
		}
		if !slices.Equal(covering, w.open) {
			w.unmark()
			for _, m := range covering {
				w.seen[m] = true
				w.out.WriteString(`<mark data-evidence data-grader="` + html.EscapeString(text.OneLine(w.marks[m].Grader, 80)) + `">`)
			}
			w.open = covering
		}
		var piece strings.Builder
		for _, c := range cells[i:end] {
			piece.WriteRune(c.r)
		}
		w.words(piece.String())
		i = end
	}
}

// words writes a text that is no part of the original, or outside its marks.
func (w *writer) words(s string) { w.out.WriteString(html.EscapeString(text.Visible(s))) }

// covering returns the marks that hold a place.
func (w *writer) covering(at int) (covering []int) {
	for i, m := range w.marks {
		if m.From <= at && at < m.To {
			covering = append(covering, i)
		}
	}
	return covering
}
