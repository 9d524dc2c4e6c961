package text

import (
	"strings"

	"github.com/mattn/go-runewidth"
)

// Width returns how many cells of a terminal s takes: most characters one, those of East Asia and emoji two.
func Width(s string) int {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return cells().StringWidth(s)
		}
	}
	return len(s)
}

// Truncate returns s cut to so many cells of a terminal, tail included, which is added only where s is cut.
func Truncate(s string, width int, tail string) string { return cells().Truncate(s, width, tail) }

// cells measures the same way on every machine, whatever its locale.
func cells() *runewidth.Condition { return &runewidth.Condition{StrictEmojiNeutral: true} }

// Table lays out rows of cells in columns, two blanks apart, and returns a line for each. Columns for which right,
// which may be nil, is true stand to the right, as figures do. The texts must be visible already.
func Table(rows [][]string, right func(column int) bool) []string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], Width(cell))
		}
	}
	lines := make([]string, 0, len(rows))
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			if i > 0 {
				line.WriteString("  ")
			}
			gap := strings.Repeat(" ", widths[i]-Width(cell))
			if right != nil && right(i) {
				line.WriteString(gap + cell)
			} else {
				line.WriteString(cell + gap)
			}
		}
		lines = append(lines, strings.TrimRight(line.String(), " "))
	}
	return lines
}
