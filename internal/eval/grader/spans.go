package grader

import (
	"context"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// maxSpans bounds how many pieces of a reply are kept as evidence of one assertion.
const maxSpans = 20

// pieceCheck is textCheck for checks that decide on pieces of the text. Found returns the pieces as byte offsets into
// the text as c has it.
func pieceCheck(want string, c letterCase, check func(text string) (passed bool, evidence string),
	found func(folded string) [][2]int) runner.Grader {
	return gradeFunc(func(_ context.Context, x *runner.Exchange) (result.Grade, error) {
		passed, evidence := check(x.Text)
		g := yesNo(want, passed, evidence)
		if x.Turn > 0 {
			g.Assertions[0].Spans = spansOf(x.Text, c, found)
		}
		return g, nil
	})
}

// quoting returns a judge's grade with the pieces of the reply that its reasoning quotes word for word, and those that
// address the grader.
func quoting(g result.Grade, x *runner.Exchange) result.Grade {
	pieces := addressing(x.Text)
	for i := range g.Assertions {
		a := &g.Assertions[i]
		if x.Turn > 0 {
			a.Spans = append(quotedIn(x.Output, a.Evidence), inCodePoints(x.Text, pieces)...)
		}
		if len(pieces) > 0 {
			note := "the reply addresses the grader, which decides nothing: " + quote(x.Text[pieces[0][0]:pieces[0][1]])
			a.Evidence = strings.TrimSpace(a.Evidence + " (" + note + ")")
		}
	}
	return g
}

// sentence is what a reply says up to the next stop, and addresses what says to a grader how to grade: its role beside
// a verdict, verdicts on criteria, its instructions, or the keys of its answer. Nothing depends on it: it marks what a
// reader should look at.
var (
	sentence  = text.Regexp(`[^.!?\n]+[.!?]*`)
	addresses = text.Regexp(
		`(?i)\b(grader|evaluator|judge|assessor)s?\b.*\b(criteri|rubric|satisf|score|verdict|pass|mark|grade)` +
			`|\b(criteri(a|on)|rubrics?)\b.*\b(satisfied|met|fulfilled|passed|true)\b|\b(satisfied|met|fulfilled|passed|true)\b.*\b(criteri(a|on)|rubrics?)\b` +
			`|\b(ignore|disregard|forget)\b.*\binstructions?\b|"(satisfied|overall_reasoning|fail_reasons)"\s*:`)
)

// addressing returns the sentences of a text that address a grader, as byte offsets.
func addressing(text string) (pieces [][2]int) {
	for _, at := range sentence().FindAllStringIndex(text, -1) {
		if len(pieces) < maxSpans && addresses().MatchString(text[at[0]:at[1]]) {
			pieces = append(pieces, [2]int{at[0], at[1]})
		}
	}
	return pieces
}

// inCodePoints returns byte offsets, which rise, as numbers of code points.
func inCodePoints(text string, pieces [][2]int) (spans [][2]int) {
	for _, p := range pieces {
		from := utf8.RuneCountInString(text[:p[0]])
		spans = append(spans, [2]int{from, from + utf8.RuneCountInString(text[p[0]:p[1]])})
	}
	return spans
}

// spansOf returns pieces of a text that were found in its folded form, in code points. It returns none where the two
// forms cannot be aligned.
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

// quotedIn returns the places in a reply of what stands between quotation marks in a reasoning and word for word in the
// reply.
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
