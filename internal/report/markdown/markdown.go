// Package markdown renders a message, as Markdown or as plain text, with marks on the pieces on which graders decided.
// Its HTML loads nothing, leads nowhere and runs nothing: links and images become their words and the address as text,
// HTML in a message is shown as text, and characters with an effect of their own become visible escapes.
package markdown

import (
	"html"
	"html/template"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// Mark is a piece of a text on which a grader decided. From and To count code points.
type Mark struct {
	From, To int
	Grader   string
}

// After returns the marks of the text that follows the first n code points.
func After(marks []Mark, n int) (after []Mark) {
	for _, m := range marks {
		if m.To > n {
			after = append(after, Mark{max(0, m.From-n), m.To - n, m.Grader})
		}
	}
	return after
}

// maxMarks bounds the marks of one text.
const maxMarks = 64

// Markdown renders a text as Markdown; a text with more markup than messages have is rendered as Plain does. hidden is
// true where a marked piece has no visible character: it is markup, such as the signs around a word in bold.
func Markdown(s string, marks []Mark) (rendered template.HTML, hidden bool) {
	if !bounded(s) {
		return Plain(s, marks), false
	}
	w := newWriter(s+"\n", marks) // without its line end, the parser loses a language of one letter
	if isSentence(s) {
		w.tag("<p>")
		w.text(0, len(s))
		w.tag("</p>")
	} else {
		w.children(parse(w.source), 0)
	}
	w.unmark()
	return template.HTML(w.out.String()), slices.Contains(w.seen, false) //nolint:gosec // the writer escapes the text
}

// Plain renders the characters of a text.
func Plain(s string, marks []Mark) template.HTML {
	w := newWriter(s, marks)
	w.text(0, len(s))
	w.unmark()
	return template.HTML(w.out.String()) //nolint:gosec // the writer escapes every character of the text
}

// layout removes the elements and line breaks that change nothing but the layout of a text.
var layout = strings.NewReplacer("<p>", "", "</p>", "", "<br>", "", "\n", "")

// Formatted reports whether Markdown shows other characters than the text has, or gives some of them a meaning.
func Formatted(s string) bool {
	if isSentence(s) {
		return false
	}
	rendered, _ := Markdown(s, nil)
	return layout.Replace(string(rendered)) != layout.Replace(string(Plain(s, nil)))
}

// isSentence reports whether a text is a paragraph of one line without any sign that Markdown knows, as most messages
// of users are: parsing it would change nothing.
func isSentence(s string) bool {
	first, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLetter(first) && !strings.HasSuffix(s, " ") && strings.IndexFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && (r < '0' || r > '9') && !strings.ContainsRune(` ,.;:?!'"()/-%@$`, r)
	}) < 0
}

// writer writes elements and escaped text. It closes open marks before an element begins or ends, and opens them again
// at the next character.
type writer struct {
	source string
	out    strings.Builder
	marks  []Mark // with places in bytes of the source
	seen   []bool // by mark: whether a character of it was written
	open   []int  // marks
	end    int    // of the source that was written last
}

func newWriter(s string, marks []Mark) *writer {
	w := &writer{source: s}
	for _, m := range marks {
		if m.From < m.To && len(w.marks) < maxMarks {
			w.marks = append(w.marks, Mark{offset(s, m.From), offset(s, m.To), m.Grader})
		}
	}
	w.seen = make([]bool, len(w.marks))
	return w
}

// offset returns the byte at which the nth code point begins. Before the text it is 0, and past it the length.
func offset(s string, n int) int {
	for i := range s {
		if n <= 0 {
			return i
		}
		n--
	}
	return len(s)
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
	w.open = nil
}

// text writes a range of the source.
func (w *writer) text(from, to int) {
	for from < to {
		var covering []int
		next := to
		for i, m := range w.marks {
			switch {
			case from < m.From:
				next = min(next, m.From)
			case from < m.To:
				next = min(next, m.To)
				covering = append(covering, i)
				w.seen[i] = true
			}
		}
		if !slices.Equal(covering, w.open) {
			w.unmark()
			for _, i := range covering {
				grader := html.EscapeString(text.OneLine(w.marks[i].Grader, 80))
				w.out.WriteString(`<mark data-evidence data-grader="` + grader + `">`)
			}
			w.open = covering
		}
		w.write(w.source[from:next])
		from = next
		w.end = next
	}
}

// words writes text that is not part of the source, outside of marks.
func (w *writer) words(s string) {
	w.unmark()
	w.write(s)
}

func (w *writer) write(s string) { w.out.WriteString(html.EscapeString(text.Visible(s))) }
