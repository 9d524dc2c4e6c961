package knowledge

import (
	"bytes"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	md "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// maxAnchor bounds the part of an id that comes from a heading.
const maxAnchor = 80

// headings finds the headings ("# …") of a document and leaves out "#" in code. Without parsers for lists and
// quotations it needs linear time, and headings inside them are text.
var headings = parser.NewParser(parser.WithBlockParsers(
	util.Prioritized(parser.NewCodeBlockParser(), 500),
	util.Prioritized(parser.NewATXHeadingParser(), 600),
	util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
	util.Prioritized(parser.NewParagraphParser(), 1000),
))

// splitMarkdown cuts a document at its headings and each section into passages of whole paragraphs.
// The id of a passage is the file with the anchor of its heading, its title the headings above it.
// Headings without text of their own give no passage; they are in the titles of those below.
func splitMarkdown(name, text string) []passage {
	c := newCutter(name)
	d := document{cutter: c}
	source := []byte(withoutFrontMatter(text))
	line, counted := 1, 0
	for n := headings.Parse(md.NewReader(source)).FirstChild(); n != nil; n = n.NextSibling() {
		heading, ok := n.(*ast.Heading)
		if !ok {
			continue
		}
		start := bytes.LastIndexByte(source[:n.Pos()], '\n') + 1
		end := len(source)
		if length := bytes.IndexByte(source[start:], '\n'); length >= 0 {
			end = start + length + 1
		}
		line += bytes.Count(source[counted:start], []byte("\n"))
		counted = start
		d.end(string(source[d.start:start]))
		d.begin(heading.Level, string(heading.Lines().Value(source)), end, line)
	}
	d.end(string(source[d.start:]))
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
