package judge

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"rehearse/internal/grader"
)

// maxEscaped is how many times JSON may have been written as a text of other JSON and still be found.
const maxEscaped = 8

// graded returns the texts that a question asks to judge: all that the author of the test has not written, and the expected output.
func graded(q grader.Question) []string {
	texts := []string{q.Output, q.Other, q.Context, q.Expected, q.Reference}
	for _, m := range q.Input {
		texts = append(texts, m.Content.Text)
		for _, b := range m.Content.Blocks {
			texts = append(texts, b.Value)
		}
		for _, call := range m.ToolCalls {
			texts = append(texts, call.Name, string(call.Args), string(call.Result))
		}
	}
	return texts
}

// quotation says why an object of a judge's reply may be a quotation of the graded text. It is empty for the judge's own words. The texts
// are searched as they are and with the escapes of JSON undone, also several times: JSON may have been written as a text of other JSON.
func quotation(s *scanner, c container, q grader.Question) string {
	for _, text := range graded(q) {
		for range maxEscaped {
			if strings.Contains(text, "{") {
				g := scan(text, s.asked, s.seed)
				switch {
				case g.holds(c.hash):
					return "its object stands in the text that is judged too, so it may be a quotation; give your own reasoning with your verdict"
				case s.completes(c, g):
					return "its object begins in the text that is judged, so it may be a quotation; give your own reasoning with your verdict"
				}
			}
			plain, escaped := unescape(text)
			if !escaped {
				break
			}
			text = plain
		}
	}
	return ""
}

// completes reports whether an object begins as a fragment of the graded text, which what follows in the reply made whole: the closing
// brace, or an object of the asked form, which may be the judge's own.
func (s *scanner) completes(c container, g *scanner) bool {
	ends := []int{c.end - 1}
	if in, ok := s.inner(c); ok {
		ends = append(ends, in.start)
	}
	for _, end := range ends {
		if g.hasFragment(strings.TrimRight(s.text[c.start:end], " \t\r\n")) {
			return true
		}
	}
	return false
}

// hasFragment reports whether the beginning of an object stands where no whole object does.
func (s *scanner) hasFragment(opening string) bool {
	for from := 0; ; {
		i := strings.Index(s.text[from:], opening)
		if i < 0 {
			return false
		}
		if _, whole := s.at(from + i); !whole {
			return true
		}
		from += i + 1
	}
}

// unescape undoes one level of JSON's escapes wherever they stand, and reports whether there were any.
func unescape(text string) (plain string, escaped bool) {
	if !strings.Contains(text, `\`) {
		return text, false
	}
	var b strings.Builder
	b.Grow(len(text))
	for len(text) > 0 {
		at := strings.IndexByte(text, '\\')
		if at < 0 || at+1 == len(text) {
			break
		}
		b.WriteString(text[:at])
		text = text[at:]
		size := 2
		switch text[1] {
		case 'n', 'r', 't', 'b', 'f':
			b.WriteByte(' ')
		case 'u':
			r, length := escapedRune(text)
			size = length
			b.WriteRune(r)
		default:
			b.WriteByte(text[1])
		}
		text = text[size:]
	}
	b.WriteString(text)
	return b.String(), true
}

// escapedRune reads an escape such as \u00e9, or two that make a pair, at the beginning of a text.
func escapedRune(text string) (r rune, size int) {
	first, ok := hexRune(text)
	if !ok {
		return 'u', 2
	}
	if second, ok := hexRune(text[6:]); ok {
		if r := utf16.DecodeRune(first, second); r != utf8.RuneError {
			return r, 12
		}
	}
	return first, 6
}

func hexRune(text string) (rune, bool) {
	if len(text) < 6 || text[:2] != `\u` {
		return 0, false
	}
	n, err := strconv.ParseUint(text[2:6], 16, 32)
	return rune(n), err == nil
}
