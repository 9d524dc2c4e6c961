package markdown

import (
	"strings"
	"unicode"
)

// said returns cells as a string.
func said(cells []cell) string {
	var b strings.Builder
	for _, c := range cells {
		b.WriteRune(c.r)
	}
	return b.String()
}

func blank(line []cell) bool { return len(trimmed(line)) == 0 }

// trimmed returns cells without the blanks around them.
func trimmed(cells []cell) []cell {
	for len(cells) > 0 && unicode.IsSpace(cells[0].r) {
		cells = cells[1:]
	}
	for len(cells) > 0 && unicode.IsSpace(cells[len(cells)-1].r) {
		cells = cells[:len(cells)-1]
	}
	return cells
}

// indent counts the blanks before a line, a tab as four.
func indent(line []cell) (width, cells int) {
	for _, c := range line {
		switch c.r {
		case ' ':
			width++
		case '\t':
			width += 4
		default:
			return width, cells
		}
		cells++
	}
	return width, cells
}

// blocks writes lines as blocks.
func (w *writer) blocks(lines [][]cell, depth int) {
	for i := 0; i < len(lines); {
		switch line := lines[i]; {
		case blank(line):
			i++
		case fenceOf(line) != "":
			i = w.fenced(lines, i)
		case headingOf(line) > 0:
			w.tag("<h3>")
			w.inline(trimmed(titleOf(line, headingOf(line))), depth)
			w.tag("</h3>")
			i++
		case isRule(line):
			w.tag("<hr>")
			i++
		case quoted(line) && depth < maxDepth:
			i = w.quote(lines, i, depth)
		case itemOf(line).width > 0 && depth < maxDepth:
			i = w.list(lines, i, depth)
		case isTable(lines, i):
			i = w.table(lines, i, depth)
		case wide(line):
			i = w.indented(lines, i)
		default:
			i = w.paragraph(lines, i, depth)
		}
	}
}

// titleOf returns a heading's line without its signs, in front and behind.
func titleOf(line []cell, level int) []cell {
	line = trimmed(trimmed(line)[level:])
	end := len(line)
	for end > 0 && line[end-1].r == '#' {
		end--
	}
	if end < len(line) && (end == 0 || line[end-1].r == ' ') {
		line = line[:end]
	}
	return line
}

// headingOf returns the level of a heading; 0 for none.
func headingOf(line []cell) int {
	if width, _ := indent(line); width > 3 {
		return 0
	}
	s, level := trimmed(line), 0
	for level < len(s) && s[level].r == '#' {
		level++
	}
	if level > 6 || level == len(s) || level > 0 && s[level].r != ' ' && s[level].r != '\t' {
		return 0
	}
	return level
}

// fenceOf returns the sign of a fence of code; empty for none.
func fenceOf(line []cell) string {
	s := said(trimmed(line))
	for _, sign := range []string{"`", "~"} {
		n := len(s) - len(strings.TrimLeft(s, sign))
		if n >= 3 && (sign == "~" || !strings.Contains(s[n:], "`")) {
			return strings.Repeat(sign, n)
		}
	}
	return ""
}

// fenced writes code between fences. Code without a closing fence goes on to the end.
func (w *writer) fenced(lines [][]cell, i int) int {
	fence := fenceOf(lines[i])
	end := i + 1
	for end < len(lines) {
		s := said(trimmed(lines[end]))
		if strings.HasPrefix(s, fence) && strings.Trim(s, fence[:1]) == "" {
			break
		}
		end++
	}
	w.tag("<pre>")
	if language := trimmed(trimmed(lines[i])[len(fence):]); len(language) > 0 {
		w.tag("<em>")
		w.text(language)
		w.tag("</em>")
		w.words("\n")
	}
	w.code(lines[i+1 : end])
	w.tag("</pre>")
	return min(end+1, len(lines))
}

// code writes lines as they are.
func (w *writer) code(lines [][]cell) {
	w.tag("<code>")
	for i, line := range lines {
		if i > 0 {
			w.words("\n")
		}
		w.text(line)
	}
	w.tag("</code>")
}

// wide reports whether a line is indented as code is.
func wide(line []cell) bool {
	width, _ := indent(line)
	return width >= 4
}

func (w *writer) indented(lines [][]cell, i int) int {
	end := i
	for end < len(lines) && wide(lines[end]) && !blank(lines[end]) {
		end++
	}
	w.tag("<pre>")
	w.code(lines[i:end])
	w.tag("</pre>")
	return end
}

func isRule(line []cell) bool {
	s := strings.ReplaceAll(said(trimmed(line)), " ", "")
	return len(s) >= 3 && (strings.Trim(s, "-") == "" || strings.Trim(s, "*") == "" || strings.Trim(s, "_") == "")
}

func quoted(line []cell) bool {
	s := trimmed(line)
	return len(s) > 0 && s[0].r == '>'
}

func (w *writer) quote(lines [][]cell, i, depth int) int {
	var inside [][]cell
	for i < len(lines) && quoted(lines[i]) {
		line := trimmed(lines[i])[1:]
		if len(line) > 0 && line[0].r == ' ' {
			line = line[1:]
		}
		inside = append(inside, line)
		i++
	}
	w.tag("<blockquote>")
	w.blocks(inside, depth+1)
	w.tag("</blockquote>")
	return i
}

// begins reports whether a line begins something other than a paragraph.
func begins(lines [][]cell, i int) bool {
	line := lines[i]
	return fenceOf(line) != "" || headingOf(line) > 0 || isRule(line) || quoted(line) || itemOf(line).width > 0 || isTable(lines, i)
}

func (w *writer) paragraph(lines [][]cell, i, depth int) int {
	end := i + 1
	for end < len(lines) && !blank(lines[end]) && !begins(lines, end) {
		end++
	}
	w.tag("<p>")
	w.lines(lines[i:end], depth)
	w.tag("</p>")
	return end
}

// lines writes lines with their breaks.
func (w *writer) lines(lines [][]cell, depth int) {
	var all []cell
	for i, line := range lines {
		if i > 0 {
			all = append(all, cell{'\n', -1})
		}
		all = append(all, trimmed(line)...)
	}
	w.inline(all, depth)
}
