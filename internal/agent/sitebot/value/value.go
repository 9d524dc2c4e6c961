// Package value finds addresses, days in figures and phone numbers in what a visitor writes, and normalizes them. It
// reads no language: days in words are for a model, whose answer Calendar.Normal checks.
package value

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text is a message in which values are searched for. A search takes what it finds, so that later searches do not see
// it: search for an address first, then for a day, then for a number. It is for one goroutine.
type Text struct {
	negates Negation
	// rest is the message; taken bytes are blanked, so that positions stay valid.
	rest []byte
}

// Negation reports whether a text ends with words that cancel a value next to them, such as "not" or "instead of", or
// with words that only look like it, such as "no problem".
type Negation func(words []string) (cancels, harmless bool)

// In returns a message to search.
func In(message string, negates Negation) *Text { return &Text{negates, []byte(message)} }

// Found is a value and the position of its words in the message.
type Found struct {
	Value    string
	From, To int
}

// taken stands for a byte of a value that a search has found. It is part of no other value.
const taken = 0

// Remove excludes a part of the message from later searches.
func (t *Text) Remove(from, to int) { clear(t.rest[from:to]) }

// Find returns the position of words in the message, in whatever case, outside of values that were found. Words without
// a letter or digit are nowhere.
func (t *Text) Find(words string) (from, to int, ok bool) {
	words = strings.TrimSpace(words)
	if !strings.ContainsFunc(words, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
		return 0, 0, false
	}
	for from = range string(t.rest) {
		to = from + len(words)
		if to <= len(t.rest) && strings.EqualFold(string(t.rest[from:to]), words) {
			return from, to, true
		}
	}
	return 0, 0, false
}

// Rest returns the pieces of the message around the values that were found.
func (t *Text) Rest() []string {
	var pieces []string
	from := 0
	for i, b := range t.rest {
		if b != taken {
			continue
		}
		if i > from {
			pieces = append(pieces, string(t.rest[from:i]))
		}
		from = i + 1
	}
	return append(pieces, string(t.rest[from:]))
}

// HasWords reports whether letters are left besides the values that were found.
func (t *Text) HasWords() bool { return strings.ContainsFunc(string(t.rest), unicode.IsLetter) }

// piece is a part of a text.
type piece struct{ from, to int }

// fields returns the parts of a text between white space.
func fields(text []byte) []piece {
	var all []piece
	from := -1
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		switch space := unicode.IsSpace(r); {
		case space && from >= 0:
			all, from = append(all, piece{from, i}), -1
		case !space && from < 0:
			from = i
		}
		i += size
	}
	if from >= 0 {
		all = append(all, piece{from, len(text)})
	}
	return all
}

const (
	// reach is how many words a negation reaches ahead, and reachBack how many it reaches back: "je ne suis pas".
	reach     = 3
	reachBack = 5
	// longestNegation is how many words a Negation needs to see: more than the longest phrase has.
	longestNegation = 6
)

// negated reports which of some places, in their order, a negation cancels: the next one within reach and in the same
// clause. With back set, a negation without a next place cancels the place before it.
func (t *Text) negated(places []piece, back bool) []bool {
	out := make([]bool, len(places))
	if len(places) == 0 {
		return out
	}
	var said []string
	next := 0
	ahead := 0                       // words that the last negation still reaches
	last, since, target := -1, 0, -1 // the last place, the words since, and the place that a negation may cancel
	settle := func() {
		if back && target >= 0 {
			out[target] = true
		}
		ahead, target = 0, -1
	}
	for _, w := range fields(t.rest) {
		inside := last >= 0 && w.from < places[last].to
		for next < len(places) && places[next].from < w.to {
			out[next] = ahead > 0
			last, since, ahead, target, inside, said = next, 0, 0, -1, true, said[:0]
			next++
		}
		text := string(t.rest[w.from:w.to])
		if !inside {
			since++
			if len(said) == longestNegation {
				said = append(said[:0], said[1:]...)
			}
			said = append(said, plain(text))
			cancels, harmless := t.negates(said)
			switch {
			case harmless:
				ahead, target = 0, -1
			case cancels:
				settle()
				ahead = reach
				if last >= 0 && since <= reachBack {
					target = last
				}
			case ahead == 1:
				settle()
			default:
				ahead = max(0, ahead-1)
			}
		}
		if strings.ContainsAny(text[len(text)-1:], ",.;!?") { // the end of a clause
			settle()
			last, said = -1, said[:0]
		}
	}
	settle()
	return out
}

// plain returns a word as a Negation expects it: in lower case, without punctuation around it.
func plain(text string) string {
	text = strings.ToLower(strings.ReplaceAll(text, "’", "'"))
	return strings.Trim(text, `:"“”«»()<>[],.;!?`)
}

func isDigit(r rune) bool  { return '0' <= r && r <= '9' }
func isLetter(r rune) bool { return unicode.IsLetter(r) || unicode.IsMark(r) }
