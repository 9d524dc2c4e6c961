package grader

import (
	"context"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"rehearse/internal/result"
	"rehearse/internal/runner"
)

// maxSpans bounds how many pieces of a reply are kept as evidence of one assertion.
const maxSpans = 20

// pieceCheck is textCheck for checks that decide on pieces of the text. Found returns the pieces as byte offsets into the text as c has it.
func pieceCheck(want string, c letterCase, check func(text string) (passed bool, evidence string), found func(folded string) [][2]int) runner.Grader {
	return gradeFunc(func(_ context.Context, x *runner.Exchange) (result.Grade, error) {
		passed, evidence := check(x.Text)
		g := yesNo(want, passed, evidence)
		if x.Turn > 0 {
			g.Assertions[0].Spans = spansOf(x.Text, c, found)
		}
		return g, nil
	})
}

// quoting returns a judge's grade with the pieces of the reply that its reasoning quotes word for word.
func quoting(g result.Grade, x *runner.Exchange) result.Grade {
	if x.Turn == 0 {
		return g
	}
	for i := range g.Assertions {
		g.Assertions[i].Spans = quotedIn(x.Output, g.Assertions[i].Evidence)
	}
	return g
}

// spansOf returns pieces of a text that were found in its folded form, in code points. It returns none where the two forms cannot be aligned.
func spansOf(text string, c letterCase, found func(folded string) [][2]int) (spans [][2]int) {
	whole := c.of(text)
	pieces := found(whole)
	if len(pieces) == 0 {
		return nil
	}
	if len(whole) == len(text) && utf8.RuneCountInString(text) == len(text) { // ASCII: bytes are code points
		return pieces[:min(len(pieces), maxSpans)]
	}
	var folded strings.Builder
	var from, to []int // of each byte of the folded text: the code points of the piece that it comes from
	for rest, at := text, 0; rest != ""; {
		n := 1
		if boundary := norm.NFC.NextBoundaryInString(rest, true); boundary > 0 {
			n = boundary
		}
		piece, points := c.of(rest[:n]), utf8.RuneCountInString(rest[:n])
		folded.WriteString(piece)
		for range len(piece) {
			from, to = append(from, at), append(to, at+points)
		}
		rest, at = rest[n:], at+points
	}
	if folded.String() != whole {
		return nil
	}
	for _, piece := range pieces {
		if piece[0] < piece[1] && piece[1] <= len(to) && len(spans) < maxSpans {
			spans = append(spans, [2]int{from[piece[0]], to[piece[1]-1]})
		}
	}
	return spans
}

// occurrences returns where values stand in a text.
func occurrences(values []string, c letterCase) func(folded string) [][2]int {
	return func(folded string) (found [][2]int) {
		for _, v := range values {
			v = c.of(v)
			for at := 0; v != "" && len(found) < maxSpans; {
				i := strings.Index(folded[at:], v)
				if i < 0 {
					break
				}
				found = append(found, [2]int{at + i, at + i + len(v)})
				at += i + len(v)
			}
		}
		return found
	}
}

// quotationMarks open and close what a judge quotes.
var quotationMarks = [...][2]string{{`"`, `"`}, {"“", "”"}, {"„", "“"}, {"«", "»"}, {"‘", "’"}, {"'", "'"}}

// quotedIn returns the places in a reply of what stands between quotation marks in a reasoning and word for word in the reply.
func quotedIn(reply, reasoning string) (spans [][2]int) {
	for _, marks := range quotationMarks {
		for rest := reasoning; len(spans) < maxSpans; {
			_, after, opened := strings.Cut(rest, marks[0])
			piece, beyond, closed := strings.Cut(after, marks[1])
			if !opened || !closed {
				break
			}
			rest = beyond
			if utf8.RuneCountInString(piece) < 2 || strings.TrimSpace(piece) == "" {
				continue
			}
			if before, _, ok := strings.Cut(reply, piece); ok {
				from := utf8.RuneCountInString(before)
				spans = append(spans, [2]int{from, from + utf8.RuneCountInString(piece)})
			}
		}
	}
	return spans
}
