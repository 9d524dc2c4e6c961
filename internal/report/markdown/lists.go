package markdown

import (
	"strconv"
	"strings"
)

// item is how a line of a list begins: the blanks before its words, and its number in a numbered list.
type item struct {
	width  int // of blanks and sign; 0 for no item
	at     int // of blanks
	number string
}

func itemOf(line []cell) item {
	at, cells := indent(line)
	rest := line[cells:]
	sign := 0
	for sign < len(rest) && sign < 9 && rest[sign].r >= '0' && rest[sign].r <= '9' {
		sign++
	}
	it := item{at: at}
	switch {
	case len(rest) == 0:
		return item{}
	case sign > 0 && sign < len(rest) && (rest[sign].r == '.' || rest[sign].r == ')'):
		it.number = said(rest[:sign])
	case sign == 0 && strings.ContainsRune("-*+", rest[0].r):
	default:
		return item{}
	}
	sign++
	if sign >= len(rest) || rest[sign].r != ' ' && rest[sign].r != '\t' {
		return item{}
	}
	it.width = cells + sign + 1
	return it
}

// list writes a list: items of one kind, with the lines that are indented below them.
func (w *writer) list(lines [][]cell, i, depth int) int {
	first := itemOf(lines[i])
	name := "ul"
	if first.number != "" {
		name = "ol"
	}
	if n, err := strconv.Atoi(first.number); err == nil && n != 1 {
		w.tag(`<ol start="` + strconv.Itoa(n) + `">`)
	} else {
		w.tag("<" + name + ">")
	}
	for i < len(lines) {
		it := itemOf(lines[i])
		if it.width == 0 || (it.number != "") != (first.number != "") || it.at < first.at || isRule(lines[i]) {
			break
		}
		inside := [][]cell{lines[i][it.width:]}
		for i++; i < len(lines); i++ {
			width, cells := indent(lines[i])
			if blank(lines[i]) {
				if i+1 < len(lines) && !blank(lines[i+1]) && deeper(lines[i+1], first.at) {
					inside = append(inside, nil)
					continue
				}
				break
			}
			if next := itemOf(lines[i]); next.width > 0 && next.at < first.at+2 || next.width == 0 && width < first.at+2 && blank(inside[len(inside)-1]) {
				break
			}
			inside = append(inside, lines[i][min(cells, it.width):])
		}
		w.tag("<li>")
		w.item(inside, depth+1)
		w.tag("</li>")
		for i+1 < len(lines) && blank(lines[i]) && itemOf(lines[i+1]).width > 0 {
			i++
		}
	}
	w.tag("</" + name + ">")
	return i
}

// deeper reports whether a line belongs below an item at a place.
func deeper(line []cell, at int) bool {
	width, _ := indent(line)
	return width >= at+2
}

// item writes an item; the words of one line stand in it without a paragraph.
func (w *writer) item(lines [][]cell, depth int) {
	end := 1
	for end < len(lines) && !blank(lines[end]) && !begins(lines, end) {
		end++
	}
	if len(lines[0]) > 0 && !begins(lines, 0) {
		w.lines(lines[:end], depth)
		lines = lines[end:]
	}
	w.blocks(lines, depth)
}
