// Package terminal prints reports: wrapped to a width, coloured if asked for, and with nothing in them that a terminal or a CI system
// would carry out.
package terminal

import (
	"bufio"
	"io"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Printer writes lines for a terminal. Errors of the writer are kept by it and come out of its Flush. Make it with New.
type Printer struct {
	*bufio.Writer
	// Width is how many cells a line takes.
	Width  int
	colour bool
}

// New returns a Printer for a terminal of that width, or of 80 cells if it is 0. With colour it uses ANSI escapes.
func New(w io.Writer, width int, colour bool) *Printer {
	if width <= 0 {
		width = 80
	}
	return &Printer{Writer: bufio.NewWriter(w), Width: width, colour: colour}
}

// The colours of verdicts and of what matters less, as SGR parameters.
const (
	Red    = "31"
	Green  = "32"
	Yellow = "33"
	Bold   = "1"
	Dim    = "2"
)

// In returns s in a colour. s must be visible already.
func (p *Printer) In(colour, s string) string {
	if !p.colour || colour == "" || s == "" {
		return s
	}
	return "\x1b[" + colour + "m" + s + "\x1b[0m"
}

// Line writes one line, in which no CI system finds a command.
func (p *Printer) Line(parts ...string) {
	_, _ = p.WriteString(text.NoCommand(strings.Join(parts, ""))) // a bufio.Writer keeps its error for Flush
	_ = p.WriteByte('\n')
}

// Wrap writes words in as many lines as it takes. The first begins with lead, the others are indented as deep;
// every line of the words gets the colour, and nothing is wider than the width but a lead alone.
func (p *Printer) Wrap(lead, colour, words string) {
	indent := text.Width(Plain(lead))
	room := max(p.Width-indent, 20)
	rest := strings.Repeat(" ", indent)
	for _, line := range p.broken(words, room) {
		p.Line(lead, p.In(colour, line))
		lead = rest
	}
}

// broken splits words into lines of at most room cells, between words where it can.
func (p *Printer) broken(words string, room int) []string {
	var lines []string
	line, used := "", 0
	for word := range strings.FieldsSeq(words) {
		wide := text.Width(word)
		if used > 0 && used+1+wide <= room {
			line, used = line+" "+word, used+1+wide
			continue
		}
		if used > 0 {
			lines = append(lines, line)
		}
		for wide > room {
			head := text.Truncate(word, room, "")
			lines, word = append(lines, head), word[len(head):]
			wide = text.Width(word)
		}
		line, used = word, wide
	}
	if used > 0 {
		lines = append(lines, line)
	}
	return lines
}

// Plain returns s without what in has put around its parts.
func Plain(s string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(s, "\x1b[")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		_, s, _ = strings.Cut(rest, "m")
	}
}

// Mark returns the sign of a verdict and its colour.
func Mark(v result.Verdict) (sign, colour string) {
	switch v {
	case result.Pass:
		return "✓", Green
	case result.Fail:
		return "✗", Red
	case result.Error:
		return "!", Yellow
	}
	return "-", Dim
}

// Table writes rows in columns, the first row being their head; columns for which right is true stand to the right. What is wider than
// the terminal is cut.
func (p *Printer) Table(rows [][]string, right func(column int) bool) {
	for _, line := range text.Table(rows, right) {
		p.Line(text.Truncate(line, p.Width, "…"))
	}
}
