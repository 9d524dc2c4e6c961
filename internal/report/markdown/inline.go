package markdown

import (
	"strings"
	"unicode"
)

// emphasis are the signs with the elements that they become, longer ones first.
var emphasis = []struct{ sign, name string }{{"**", "strong"}, {"__", "strong"}, {"~~", "del"}, {"*", "em"}, {"_", "em"}}

// inline writes the words of a block with emphasis, code and addresses.
func (w *writer) inline(cells []cell, depth int) {
	from := 0
	missing := map[string]bool{} // signs that nothing closes any more
	flush := func(to int) {
		if from < to {
			w.text(cells[from:to])
		}
	}
	for i := 0; i < len(cells); {
		next := i
		switch c := cells[i]; {
		case c.r == '\n':
			flush(i)
			w.tag("<br>")
			next = i + 1
		case c.r == '\\' && i+1 < len(cells) && strings.ContainsRune("\\`*_{}[]()#+-.!|~>", cells[i+1].r):
			flush(i)
			from = i + 1 // the sign itself is text
			i += 2
			continue
		case c.r == '`':
			next = w.codeSpan(cells, i, missing, flush)
		case c.r == '[' || c.r == '!' && i+1 < len(cells) && cells[i+1].r == '[':
			next = w.link(cells, i, depth, flush)
		default:
			next = w.emphasised(cells, i, depth, missing, flush)
		}
		if next == i {
			i++
			continue
		}
		i, from = next, next
	}
	flush(len(cells))
}

// run counts how often a sign stands at a place.
func run(cells []cell, i int) (n int) {
	for i+n < len(cells) && cells[i+n].r == cells[i].r {
		n++
	}
	return n
}

// codeSpan writes code between equal runs of backticks and returns where it ends; i where there is none.
func (w *writer) codeSpan(cells []cell, i int, missing map[string]bool, flush func(int)) int {
	n := run(cells, i)
	sign := strings.Repeat("`", n)
	for j := i + n; j < len(cells) && !missing[sign]; {
		if cells[j].r != '`' {
			j++
			continue
		}
		m := run(cells, j)
		if m == n {
			flush(i)
			w.tag("<code>")
			w.text(cells[i+n : j])
			w.tag("</code>")
			return j + n
		}
		j += m
	}
	missing[sign] = true
	return i
}

// maxAddress and maxTitle bound how far the end of an address and of its words is looked for, in characters.
const (
	maxAddress = 2_000
	maxTitle   = 1_000
)

// link writes [words](address) and ![words](address) as the words and the address, both as text.
func (w *writer) link(cells []cell, i, depth int, flush func(int)) int {
	open := i
	if cells[i].r == '!' {
		open++
	}
	end, level := open+1, 1
	for ; end < min(len(cells), open+maxTitle) && level > 0; end++ {
		switch cells[end].r {
		case '[':
			level++
		case ']':
			level--
		case '\\':
			end++
		}
	}
	if level > 0 || end >= len(cells) || cells[end].r != '(' || depth >= maxDepth {
		return i
	}
	until, parens := end+1, 1
	for ; until < min(len(cells), end+maxAddress) && parens > 0; until++ {
		switch cells[until].r {
		case '(':
			parens++
		case ')':
			parens--
		}
	}
	if parens > 0 {
		return i
	}
	flush(i)
	words, address := trimmed(cells[open+1:end-1]), trimmed(cells[end+1:until-1])
	w.inline(words, depth+1)
	if len(address) > 0 && said(address) != said(words) {
		if len(words) > 0 {
			w.words(" ")
		}
		w.words("(")
		w.text(address)
		w.words(")")
	}
	return until
}

// emphasised writes words between signs of emphasis and returns where they end; i where there are none.
func (w *writer) emphasised(cells []cell, i, depth int, missing map[string]bool, flush func(int)) int {
	if depth >= maxDepth {
		return i
	}
	for _, e := range emphasis {
		n := len(e.sign)
		if cells[i].r != rune(e.sign[0]) || run(cells, i) < n || missing[e.sign] || i+n >= len(cells) || unicode.IsSpace(cells[i+n].r) {
			continue
		}
		if e.sign[0] == '_' && i > 0 && isWord(cells[i-1].r) {
			return i
		}
		end := closing(cells, i+n, e.sign)
		if end < 0 {
			missing[e.sign] = true
			continue
		}
		if end == i+n {
			continue
		}
		flush(i)
		w.tag("<" + e.name + ">")
		w.inline(cells[i+n:end], depth+1)
		w.tag("</" + e.name + ">")
		return end + n
	}
	return i
}

// closing returns where a sign closes what it has opened; -1 for nowhere.
func closing(cells []cell, from int, sign string) int {
	n := len(sign)
	for j := from; j < len(cells); {
		switch {
		case cells[j].r == '\\':
			j += 2
			continue
		case cells[j].r != rune(sign[0]):
			j++
			continue
		}
		m := run(cells, j)
		fits := m == n || m > 2 && n <= m
		if fits && j > from && !unicode.IsSpace(cells[j-1].r) && (sign[0] != '_' || j+m >= len(cells) || !isWord(cells[j+m].r)) {
			return j + m - n
		}
		j += m
	}
	return -1
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }
