package judge

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"regexp"
	"strings"

	"rehearse/internal/grader"
	"rehearse/internal/text"
)

// lacking says that a verdict is sound but leaves out criteria that were asked.
type lacking struct{ criteria []string }

func (e *lacking) Error() string {
	quoted := make([]string, len(e.criteria))
	for i, c := range e.criteria {
		quoted[i] = fmt.Sprintf("%q", c)
	}
	return "it does not answer " + strings.Join(quoted, ", ")
}

// parse finds the verdict in a judge's reply. The reply may have words and fences around it, but only one object of the asked form may be
// a verdict: graded text may hold verdicts, too, and judges quote. An error says what leaves doubt. With a lacking error comes the verdict
// without the criteria that the judge left out.
func parse(q grader.Question, words string) (grader.Verdict, error) {
	words = withoutThoughts(words)
	s := scan(words, verdictKey(q.Mode), maphash.MakeSeed())
	c, err := s.candidate()
	if err != nil {
		return grader.Verdict{}, err
	}
	var fields map[string]any
	if err := json.Unmarshal([]byte(words[c.start:c.end]), &fields); err != nil {
		return grader.Verdict{}, plain(err)
	}
	v, err := verdict(q, fields)
	if err != nil {
		return grader.Verdict{}, err
	}
	if why := quotation(s, c, q); why != "" {
		return grader.Verdict{}, errors.New(why)
	}
	if left := unanswered(q, v); len(left) > 0 {
		return v, &lacking{left}
	}
	return v, nil
}

// withoutThoughts cuts off what a model thought aloud before it answered. Thoughts without an end are all that there is.
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

// candidate returns the one object of the asked form. Equal ones count once.
func (s *scanner) candidate() (one container, err error) {
	objects := s.outermost()
	found, differ := false, false
	for _, o := range objects {
		switch {
		case !o.shaped:
		case !found:
			found, one = true, o
		default:
			differ = differ || o.hash != one.hash
			one.repeats, one.torn = one.repeats || o.repeats, one.torn || o.torn
		}
	}
	switch {
	case !found:
		return one, s.none(objects)
	case differ:
		return one, fmt.Errorf("it holds several objects with %q that differ, and only one can be the verdict", s.asked)
	case one.repeats:
		return one, errors.New("its object has a key twice")
	case one.torn, s.keyBeside(objects):
		return one, fmt.Errorf("beside its object it holds a part of another one with %q", s.asked)
	}
	return one, nil
}

// keyBeside reports whether the asked key stands outside the objects: then something that was meant as a verdict was cut in pieces, perhaps
// by a quotation.
func (s *scanner) keyBeside(objects []container) bool {
	key := regexp.MustCompile(`(?i)["']` + regexp.QuoteMeta(s.asked) + `["']\s*:`)
	from := 0
	for _, o := range objects {
		if key.MatchString(s.text[from:o.start]) {
			return true
		}
		from = o.end
	}
	return key.MatchString(s.text[from:])
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
