package knowledge

import (
	"strings"
	"unicode"
)

// maxAnchor bounds the part of an id that comes from a heading.
const maxAnchor = 80

// splitMarkdown cuts a document at its headings ("# …") and each section into passages of whole paragraphs.
// The id of a passage is the file with the anchor of its heading, its title the headings above it.
// Headings without text of their own give no passage; they are in the titles of those below.
func splitMarkdown(name, text string) []passage {
	c := newCutter(name)
	d := document{cutter: c}
	number, at, fence := 0, 0, ""
	text = withoutFrontMatter(text)
	for line := range strings.Lines(text) {
		number++
		marks, isFence := fenceOf(line)
		switch level, heading := headingOf(line); {
		case fence != "":
			if isFence && strings.HasPrefix(marks, fence) {
				fence = ""
			}
		case isFence:
			fence = marks
		case level > 0:
			d.end(text[d.start:at])
			d.begin(level, heading, at+len(line), number)
		}
		at += len(line)
	}
	d.end(text[d.start:])
	return c.passages
}

// document is a Markdown document being read.
type document struct {
	cutter *cutter
	// trail has the headings above the current section, by level.
	trail [6]string
	// id is the id of the current section. The text of the section starts at start, below the heading on that line.
	id          string
	start, line int
}

func (d *document) begin(level int, heading string, start, line int) {
	d.trail[level-1] = heading
	clear(d.trail[level:])
	d.id, d.start, d.line = d.cutter.name+"#"+anchor(heading), start, line
}

func (d *document) end(text string) {
	var title []string
	for _, heading := range d.trail {
		if heading != "" {
			title = append(title, heading)
		}
	}
	d.cutter.add(d.id, strings.Join(title, " > "), text, d.line)
}

// headingOf returns the level and the text of a heading; the level of any other line is 0.
func headingOf(line string) (level int, text string) {
	line = withoutIndent(line)
	text = strings.TrimLeft(line, "#")
	level = len(line) - len(text)
	if level < 1 || level > 6 || strings.TrimLeft(text, " \t\n") == text && text != "" {
		return 0, ""
	}
	text = strings.TrimSpace(text)
	if closed := strings.TrimRight(text, "#"); closed == "" || strings.HasSuffix(closed, " ") {
		text = strings.TrimSpace(closed) // "## Text ##" is a way to write it as well
	}
	return level, text
}

// fenceOf returns the marks of a line that begins or ends a block of code, where "#" is no heading.
func fenceOf(line string) (marks string, ok bool) {
	line = withoutIndent(line)
	for _, mark := range []string{"`", "~"} {
		rest := strings.TrimLeft(line, mark)
		if n := len(line) - len(rest); n >= 3 {
			return line[:n], true
		}
	}
	return "", false
}

// withoutIndent removes up to three blanks; a line with more is code.
func withoutIndent(line string) string {
	for range 3 {
		line = strings.TrimPrefix(line, " ")
	}
	return line
}

// withoutFrontMatter blanks out settings between two lines of "---" at the very beginning.
func withoutFrontMatter(text string) string {
	rest, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return text
	}
	settings, _, ok := strings.Cut(rest, "\n---\n")
	if !ok {
		return text
	}
	end := len("---\n") + len(settings) + len("\n---")
	return strings.Repeat("\n", strings.Count(text[:end], "\n")) + text[end:] // the lines keep their numbers
}

// anchor returns what a link to a heading is called: small letters, digits and hyphens.
func anchor(heading string) string {
	var b strings.Builder
	left := maxAnchor
	for _, r := range strings.ToLower(heading) {
		switch {
		case left == 0:
			return b.String()
		case unicode.IsSpace(r):
			r = '-'
		case !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) && r != '-' && r != '_':
			continue
		}
		b.WriteRune(r)
		left--
	}
	if strings.Trim(b.String(), "-_") == "" {
		return "section"
	}
	return b.String()
}
