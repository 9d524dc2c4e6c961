package judge

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"regexp"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/eval/grader"
)

// parse finds the verdict in a judge's reply. The reply may have words, fences and quotations of the graded text around
// it; of the other objects of the asked form there may be only one. An error says what leaves doubt.
func parse(asked checklist, words string) (grader.Verdict, error) {
	words = withoutThoughts(words)
	s := scan(words, verdictKey(asked.Mode), maphash.MakeSeed())
	c, err := s.candidate(quotable(asked.Question, s))
	if err != nil {
		return grader.Verdict{}, err
	}
	var fields map[string]any
	if err := json.Unmarshal([]byte(words[c.start:c.end]), &fields); err != nil {
		return grader.Verdict{}, plain(err)
	}
	v, err := asked.verdict(fields)
	if err != nil {
		return grader.Verdict{}, err
	}
	return v, asked.complete(v)
}

// withoutThoughts cuts off what a model thought aloud before it answered. Thoughts without an end are all that there
// is.
func withoutThoughts(words string) string {
	thoughts, thought := strings.CutPrefix(strings.TrimLeft(words, " \t\r\n\ufeff"), "<think>")
	if !thought {
		return words
	}
	_, words, _ = strings.Cut(thoughts, "</think>")
	return words
}

// verdictKey returns the key that makes an object one of the asked form.
func verdictKey(m grader.Mode) string {
	switch m {
	case grader.Checklist:
		return "checks"
	case grader.Criteria:
		return "scores"
	case grader.Compare:
		return "preferred"
	}
	return "score"
}

// candidate returns the one object of the asked form that is no quotation. Equal ones count once.
func (s *scanner) candidate(g *quotations) (one container, err error) {
	objects := s.outermost()
	var all, found spans
	quoted, differ := false, false
	for _, o := range objects {
		all = append(all, [2]int{o.start, o.end})
		switch {
		case !o.shaped:
			continue
		case g.holds(o):
			quoted = true
			continue
		case found == nil:
			one = o
		}
		found = append(found, [2]int{o.start, o.end})
		differ = differ || o.hash != one.hash
		one.repeats = one.repeats || o.repeats
	}
	switch {
	case found != nil:
	case quoted:
		return one, errors.New("its object stands in the text that is judged too, so it may be a quotation; " +
			"give your own reasoning with your verdict")
	default:
		return one, s.none(objects)
	}
	quotes := g.in(s.text, found)
	switch {
	case differ:
		return one, fmt.Errorf("it holds several objects with %q that differ, and only one can be the verdict", s.asked)
	case one.repeats:
		return one, errors.New("its object has a key twice")
	case g.begin(s, one):
		return one, errors.New("its object begins in the text that is judged, so it may be a quotation; " +
			"give your own reasoning with your verdict")
	case s.torn(found, quotes), s.keyBeside(all, quotes):
		return one, fmt.Errorf("beside its object it holds a part of another one with %q", s.asked)
	}
	return one, nil
}

// torn reports whether one of the objects stands between the opening brace of a broken object and its fault: then it
// may have been part of that one. Braces in quotations do not count.
func (s *scanner) torn(objects, quotes spans) bool {
	for at := 0; ; at++ {
		brace := strings.IndexByte(s.text[at:], '{')
		if brace < 0 {
			return false
		}
		at += brace
		if quotes.contain(at) {
			continue
		}
		if c, whole := s.at(at); whole {
			at = c.end - 1
			continue
		}
		_, reach, _ := s.read(at)
		if objects.startWithin(at, reach) {
			return true
		}
	}
}

// keyBeside reports whether the asked key stands outside of objects and quotations: then something that was meant as a
// verdict was cut in pieces.
func (s *scanner) keyBeside(objects, quotes spans) bool {
	key := regexp.MustCompile(`(?i)["']` + regexp.QuoteMeta(s.asked) + `["']\s*:`)
	for _, m := range key.FindAllStringIndex(s.text, -1) {
		if !objects.contain(m[0]) && !quotes.contain(m[0]) {
			return true
		}
	}
	return false
}

// none says why a reply with these objects has none of the asked form.
func (s *scanner) none(objects []container) error {
	switch {
	case strings.TrimSpace(s.text) == "":
		return errors.New("it is empty")
	case len(objects) > 0:
		return fmt.Errorf("it has no %q", s.asked)
	}
	if body, ok := text.JSONIn(s.text); ok {
		if err := json.Unmarshal(body, new(any)); err != nil {
			return plain(err)
		}
	}
	return errors.New("it is not a JSON object")
}
