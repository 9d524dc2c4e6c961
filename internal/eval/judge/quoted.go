package judge

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/eval/grader"
)

// maxEscaped is how many times JSON may have been written as a text of other JSON and still be found.
const maxEscaped = 8

// graded returns the texts that a question asks to judge: all that the author of the test has not written, and the
// expected output.
func graded(q grader.Question) []string {
	texts := []string{q.Output, q.Other, q.Context, q.Expected, q.Reference}
	called := func(calls []chat.ToolCall) {
		for _, call := range calls {
			texts = append(texts, call.Name, string(call.Args), string(call.Result))
		}
	}
	called(q.ToolCalls)
	for _, m := range q.Input {
		texts = append(texts, m.Content.Text)
		for _, b := range m.Content.Blocks {
			texts = append(texts, b.Value)
		}
		called(m.ToolCalls)
	}
	return texts
}

// quotations know what a judge may quote: the texts of a question, as they are and with the escapes of JSON undone,
// also several times, since JSON may have been written as a text of other JSON.
type quotations struct {
	// wholes are the texts that contain the asked key or a brace, each without white space around it.
	wholes []string
	scans  []*scanner
}

func quotable(q grader.Question, s *scanner) *quotations {
	g := &quotations{}
	for _, text := range graded(q) {
		for range maxEscaped {
			brace := strings.Contains(text, "{")
			if brace {
				g.scans = append(g.scans, scan(text, s.asked, s.seed))
			}
			if brace || strings.Contains(strings.ToLower(text), s.asked) {
				g.wholes = append(g.wholes, strings.TrimSpace(text))
			}
			plain, escaped := unescape(text)
			if !escaped {
				break
			}
			text = plain
		}
	}
	return g
}

// holds reports whether an object stands in the graded text.
func (g *quotations) holds(c container) bool {
	return slices.ContainsFunc(g.scans, func(graded *scanner) bool { return graded.holds(c.hash) })
}

// begin reports whether an object of the reply s begins as a fragment of the graded text.
func (g *quotations) begin(s *scanner, c container) bool {
	return slices.ContainsFunc(g.scans, func(graded *scanner) bool { return s.completes(c, graded) })
}

// spans are pieces of a text, each from the first offset to before the second, in their order and apart from each
// other.
type spans [][2]int

func (l spans) contain(at int) bool { return l.overlap(at, at+1) }

func (l spans) overlap(start, end int) bool {
	i, _ := slices.BinarySearchFunc(l, end, func(s [2]int, end int) int { return cmp.Compare(s[0], end) })
	return i > 0 && start < l[i-1][1]
}

// startWithin reports whether one of the spans starts after one offset and before another.
func (l spans) startWithin(after, before int) bool {
	i, _ := slices.BinarySearchFunc(l, after+1, func(s [2]int, at int) int { return cmp.Compare(s[0], at) })
	return i < len(l) && l[i][0] < before
}

// apart sorts spans and joins those that overlap.
func apart(l spans) (joined spans) {
	slices.SortFunc(l, func(a, b [2]int) int { return cmp.Compare(a[0], b[0]) })
	for _, s := range l {
		if last := len(joined) - 1; last >= 0 && s[0] <= joined[last][1] {
			joined[last][1] = max(joined[last][1], s[1])
			continue
		}
		joined = append(joined, s)
	}
	return joined
}

// in returns where a reply quotes a whole graded text, outside of the objects that may be its verdict: a text that
// reaches into one of them may have been made to be completed by it.
func (g *quotations) in(reply string, verdicts spans) (quotes spans) {
	for _, whole := range g.wholes {
		for from := 0; ; {
			i := strings.Index(reply[from:], whole)
			if i < 0 {
				break
			}
			start, end := from+i, from+i+len(whole)
			if !verdicts.overlap(start, end) {
				quotes = append(quotes, [2]int{start, end})
			}
			from = end
		}
	}
	return apart(quotes)
}

// completes reports whether an object begins as a fragment of the graded text, which what follows in the reply made
// whole: the closing brace, or an object of the asked form, which may be the judge's own.
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
