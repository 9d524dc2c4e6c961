package source

import (
	"math"
	"strings"

	"github.com/goccy/go-yaml/token"
)

// The library takes a time or a memory that grows with the square of the text for a few shapes: it copies the keys of a block mapping for each of them,
// stores the path of each node, moves all tokens for each value that is left out and for each document, copies a block of text for each empty line that
// ends it, and looks for a merge key at each "<" up to the next other character. Each bound below is less than a second, or 64 MB.
const (
	maxKeyCopies = 50_000_000
	maxPathBytes = 64 << 20
	maxMoves     = 1 << 30
	maxCopies    = 100_000_000
	maxRunBytes  = 100_000_000
	// fewBlank is how many empty lines in a row cost nothing to speak of.
	fewBlank = 16
)

const tooSlow = "the document takes too long to read"

// runsCost returns the line at which runs of empty lines, or of "<", have become too expensive, with what to do; 0 if they do not.
func runsCost(text string) (number int, hint string) {
	blank, at, cost := 0, 0, 0
	for line := range strings.Lines(text) {
		number++
		at += len(line)
		angles := 0
		for i := strings.IndexByte(line, '<'); i >= 0 && i < len(line); i++ {
			if angles++; line[i] != '<' {
				angles = 0
			}
			cost += angles
		}
		if cost > maxRunBytes {
			return number, "remove the row of < here"
		}
		if len(strings.Trim(line, " \t\r\n")) > 0 {
			blank = 0
			continue
		}
		if blank++; blank > fewBlank {
			cost += at
		}
		if cost > maxRunBytes {
			return number, "remove the empty lines here"
		}
	}
	return 0, ""
}

// checkCost refuses a submitted text whose tokens would take the library long.
func (c *converter) checkCost(all token.Tokens) error {
	if !c.submitted {
		return nil
	}
	w := costWalk{all: all}
	for i, t := range all {
		w.token(i, t)
		hint := ""
		switch {
		case w.copies > maxKeyCopies:
			hint = "split the mapping: it has too many keys"
		case w.paths > maxPathBytes:
			hint = "shorten the keys: they are too long for all that stands below them"
		case w.nulls*len(all) > maxMoves:
			hint = "write the values out, such as null: too many are left out"
		case w.documents*len(all) > maxCopies:
			hint = "split the file: it has too many documents"
		}
		if hint != "" {
			line, column := c.place(t)
			return fault(c.file, line, column, tooSlow, hint)
		}
	}
	return nil
}

// costWalk follows the nesting of tokens, and adds up what the library does with them.
type costWalk struct {
	all                  token.Tokens
	open                 []container
	copies, paths, nulls int
	documents            int
}

// container is a list or a mapping that a token is in. above is the length of its own path, and key that of the key or the index in it.
type container struct {
	column, above, key, keys int
	list, flow               bool
}

func (w *costWalk) top() *container {
	if len(w.open) == 0 {
		return &container{}
	}
	return &w.open[len(w.open)-1]
}

func (w *costWalk) push(c container) {
	c.above = w.top().above + w.top().key + 1
	w.open = append(w.open, c)
}

// indexBytes is about the length of an index in a path.
const indexBytes = 8

func (w *costWalk) token(i int, t *token.Token) {
	switch t.Type {
	case token.DocumentHeaderType, token.DocumentEndType:
		w.open = nil
		w.documents++
	case token.SequenceStartType:
		w.push(container{flow: true, list: true, column: math.MaxInt, key: indexBytes})
	case token.MappingStartType:
		w.push(container{flow: true, column: math.MaxInt})
	case token.SequenceEndType, token.MappingEndType:
		for len(w.open) > 0 && !w.top().flow {
			w.open = w.open[:len(w.open)-1]
		}
		if len(w.open) > 0 {
			w.open = w.open[:len(w.open)-1]
		}
	case token.SequenceEntryType:
		w.close(t.Position.Column, false)
		if top := w.top(); !top.list || top.flow || top.column != t.Position.Column {
			w.push(container{list: true, column: t.Position.Column, key: indexBytes})
		}
	case token.MappingValueType:
		w.key(i)
	}
	w.paths += w.top().above + w.top().key
	if w.leftOut(i, t) {
		w.nulls++
	}
}

// key enters the mapping of the key before a colon.
func (w *costWalk) key(colon int) {
	if colon == 0 {
		return
	}
	key := w.all[colon-1]
	if !w.top().flow {
		w.close(key.Position.Column, true)
		if top := w.top(); len(w.open) == 0 || top.list || top.column != key.Position.Column {
			w.push(container{column: key.Position.Column})
		}
	}
	top := w.top()
	top.key = len(key.Value)
	if !top.flow {
		top.keys++
		w.copies += top.keys
	}
}

// close leaves the block containers that end before a column: a list may begin in the column of the key that it is the value of.
func (w *costWalk) close(column int, key bool) {
	for len(w.open) > 0 && !w.top().flow && (w.top().column > column || key && w.top().list && w.top().column == column) {
		w.open = w.open[:len(w.open)-1]
	}
}

// leftOut reports whether a value is missing behind a token.
func (w *costWalk) leftOut(i int, t *token.Token) bool {
	if i+1 >= len(w.all) {
		return false
	}
	next := w.all[i+1]
	ends := next.Type == token.CollectEntryType || next.Type == token.MappingEndType || next.Type == token.SequenceEndType
	switch t.Type {
	case token.MappingValueType:
		return ends || next.Position.Line > t.Position.Line && i > 0 && next.Position.Column <= w.all[i-1].Position.Column
	case token.SequenceEntryType:
		return ends || next.Position.Line > t.Position.Line && next.Position.Column <= t.Position.Column
	}
	return ends && w.top().flow && !w.top().list && i > 0 && w.all[i-1].Type != token.MappingValueType
}
