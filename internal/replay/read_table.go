package replay

import (
	"bufio"
	"encoding/csv"
	"io"
)

// dividers are what may stand between the cells of a table: spreadsheets write semicolons where a comma is part of
// numbers.
var dividers = []rune{',', ';', '\t', '|'}

// maxTableHead is how much of a table is looked at to find what divides its cells.
const maxTableHead = 64 << 10

// TableReader returns a reader of a table. Its cells are divided as the names in its first row are, and a byte order
// mark is no part of a name.
func TableReader(r io.Reader) *csv.Reader {
	begin := bufio.NewReaderSize(r, maxTableHead)
	if mark, err := begin.Peek(3); err == nil && string(mark) == "\ufeff" {
		_, _ = begin.Discard(3) // which is buffered
	}
	head, _ := begin.Peek(maxTableHead) // an error comes again when it is read
	table := csv.NewReader(begin)
	table.Comma = dividerOf(string(head))
	table.FieldsPerRecord = -1
	return table
}

// dividerOf returns the divider that stands most often in the first row of a table, outside of quotes.
func dividerOf(begin string) rune {
	counts := map[rune]int{}
	quoted := false
	for _, c := range begin {
		switch {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '\n' && len(counts) == 0: // a blank line before the first row
		case c == '\n':
			return mostOften(counts)
		case c != '\r' && c != ' ':
			counts[c]++
		}
	}
	return mostOften(counts)
}

func mostOften(counts map[rune]int) rune {
	most := dividers[0]
	for _, c := range dividers {
		if counts[c] > counts[most] {
			most = c
		}
	}
	return most
}
