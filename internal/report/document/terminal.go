package document

import (
	"bufio"
	"io"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// printer writes lines for a terminal, wrapped to a width, in which no terminal and no CI system finds a command. Flush
// returns the first error of the writer.
type printer struct {
	*bufio.Writer
	width  int // cells of a line
	colour bool
}

func newPrinter(w io.Writer, width int, colour bool) *printer {
	if width <= 0 {
		width = 80
	}
	return &printer{Writer: bufio.NewWriter(w), width: width, colour: colour}
}

// The colours of verdicts and of what matters less, as SGR parameters.
const (
	red    = "31"
	green  = "32"
	yellow = "33"
	bold   = "1"
	dim    = "2"
)

// in returns s in a colour. s must be visible already.
func (p *printer) in(colour, s string) string {
	if !p.colour || colour == "" || s == "" {
		return s
	}
	return "\x1b[" + colour + "m" + s + "\x1b[0m"
}

// line writes one line, in which no CI system finds a command.
func (p *printer) line(parts ...string) {
	_, _ = p.WriteString(text.NoCommand(strings.Join(parts, ""))) // Flush returns the error
	_ = p.WriteByte('\n')
}

// wrap writes words in as many lines as it takes. The first begins with lead, the others are indented as deep; every
// line of the words gets the colour, and nothing is wider than the width but a lead alone.
func (p *printer) wrap(lead, colour, words string) {
	indent := text.Width(plain(lead))
	cells := max(p.width-indent, 20)
	rest := strings.Repeat(" ", indent)
	for _, line := range p.broken(words, cells) {
		p.line(lead, p.in(colour, line))
		lead = rest
	}
}

// broken splits words into lines of at most that many cells, between words where it can.
func (p *printer) broken(words string, cells int) []string {
	var lines []string
	line, used := "", 0
	for word := range strings.FieldsSeq(words) {
		wide := text.Width(word)
		if used > 0 && used+1+wide <= cells {
			line, used = line+" "+word, used+1+wide
			continue
		}
		if used > 0 {
			lines = append(lines, line)
		}
		for wide > cells {
			head := text.Truncate(word, cells, "")
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

// plain returns s without what in has put around its parts.
func plain(s string) string {
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

// mark returns the sign of a verdict and its colour.
func mark(v result.Verdict) (sign, colour string) {
	switch v {
	case result.Pass:
		return "✓", green
	case result.Fail:
		return "✗", red
	case result.Error:
		return "!", yellow
	}
	return "-", dim
}
