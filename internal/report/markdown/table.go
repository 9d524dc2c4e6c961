package markdown

import "strings"

// maxColumns bounds the columns of a table.
const maxColumns = 50

// isTable reports whether a table begins at a line: a row, and below it one of dashes.
func isTable(lines [][]cell, i int) bool {
	if i+1 >= len(lines) || !strings.Contains(said(lines[i]), "|") {
		return false
	}
	dashes := said(trimmed(lines[i+1]))
	if !strings.Contains(dashes, "-") || strings.Trim(dashes, "|-: \t") != "" {
		return false
	}
	return len(cut(lines[i])) == len(cut(lines[i+1])) && len(cut(lines[i])) <= maxColumns
}

// cut returns the fields of a row.
func cut(line []cell) (fields [][]cell) {
	line = trimmed(line)
	if len(line) > 0 && line[0].r == '|' {
		line = line[1:]
	}
	if n := len(line); n > 0 && line[n-1].r == '|' && (n < 2 || line[n-2].r != '\\') {
		line = line[:n-1]
	}
	from, code := 0, false
	for i, c := range line {
		switch {
		case c.r == '`':
			code = !code
		case c.r == '|' && !code && (i == 0 || line[i-1].r != '\\'):
			fields = append(fields, trimmed(line[from:i]))
			from = i + 1
		}
	}
	return append(fields, trimmed(line[from:]))
}

func (w *writer) table(lines [][]cell, i, depth int) int {
	heads := cut(lines[i])
	w.tag("<table><thead>")
	w.row("th", heads, len(heads), depth)
	w.tag("</thead><tbody>")
	for i += 2; i < len(lines) && !blank(lines[i]) && strings.Contains(said(lines[i]), "|"); i++ {
		w.row("td", cut(lines[i]), len(heads), depth)
	}
	w.tag("</tbody></table>")
	return i
}

// row writes a row of as many fields as the table has columns; what a row has more goes into its last field, so that nothing is lost.
func (w *writer) row(name string, fields [][]cell, columns, depth int) {
	w.tag("<tr>")
	for i := range columns {
		w.tag("<" + name + ">")
		if i < len(fields) {
			w.inline(fields[i], depth)
		}
		if i == columns-1 {
			for _, more := range fields[min(columns, len(fields)):] {
				w.words(" | ")
				w.inline(more, depth)
			}
		}
		w.tag("</" + name + ">")
	}
	w.tag("</tr>")
}
