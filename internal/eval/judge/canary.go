package judge

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/eval/grader"
)

// Canary says which control criteria a checklist contains beside the author's.
type Canary string

// The settings of a judge's control criteria.
const (
	// CanaryOn adds one criterion that no reply meets: that it contains a word drawn for this call.
	CanaryOn Canary = "on"
	// CanaryOff adds none. One check then answers a checklist of one criterion, whatever id it has.
	CanaryOff Canary = "off"
	// CanaryStrict also adds the negation of one of the author's criteria.
	CanaryStrict Canary = "strict"
)

const negation = "This is not the case: "

// checklist is a question as one call contains it: with its own ids, its own order, and control criteria. Other modes
// are asked as they are.
type checklist struct {
	grader.Question
	// ids are the author's ids by those of this call; nil if the call has the author's ids.
	ids map[string]string
	// canary, negation and negated are ids of this call; empty without such a criterion.
	canary, negation, negated string
	// single is true if one check answers the only criterion whatever its id.
	single bool
}

// draw returns the checklist of a call. Without draws the question stays as it is, and there is no canary.
func draw(q grader.Question, canary Canary, from *draws) checklist {
	c := checklist{Question: q}
	if q.Mode != grader.Checklist {
		return c
	}
	c.single = len(q.Rubrics) == 1 && (from == nil || canary == CanaryOff)
	if from == nil {
		return c
	}
	c.ids = map[string]string{}
	c.Rubrics = nil
	add := func(r grader.Rubric) (id string) {
		for id == "" || c.has(id) {
			id = from.id()
		}
		r.ID = id
		c.Rubrics = append(c.Rubrics, r)
		return id
	}
	var negatable []int
	for i, r := range q.Rubrics {
		c.ids[add(r)] = r.ID
		if len(r.Ranges) == 0 && r.Operator != "contradiction" {
			negatable = append(negatable, i)
		}
	}
	if canary != CanaryOff {
		c.canary = add(grader.Rubric{Outcome: fmt.Sprintf("The reply contains the word %q.", from.absent(texts(q)))})
	}
	if canary == CanaryStrict && len(negatable) > 0 {
		i := negatable[from.below(len(negatable))]
		c.negated = c.Rubrics[i].ID
		c.negation = add(grader.Rubric{Outcome: negation + q.Rubrics[i].Outcome})
	}
	for i := len(c.Rubrics) - 1; i > 0; i-- {
		j := from.below(i + 1)
		c.Rubrics[i], c.Rubrics[j] = c.Rubrics[j], c.Rubrics[i]
	}
	return c
}

// texts returns everything that the question contains in words.
func texts(q grader.Question) []string {
	all := append(graded(q), q.Criteria)
	for _, r := range q.Rubrics {
		all = append(all, r.Outcome)
	}
	return all
}

func (c checklist) has(id string) bool {
	for _, r := range c.Rubrics {
		if r.ID == id {
			return true
		}
	}
	return false
}

// find returns the criterion that a check with this id answers, of so many checks: the one of that id, or the one whose
// text the id repeats.
func (c checklist) find(id string, checks int) (grader.Rubric, bool) {
	if c.single && checks == 1 {
		return c.Rubrics[0], true
	}
	var found []grader.Rubric
	for _, r := range c.Rubrics {
		if r.ID == id {
			return r, true
		}
		if plainText(r.Outcome) == plainText(id) {
			found = append(found, r)
		}
	}
	if len(found) != 1 { // two criteria with one text cannot be told apart by it
		return grader.Rubric{}, false
	}
	return found[0], true
}

func plainText(s string) string { return strings.Join(strings.Fields(s), " ") }

// settle returns a complete verdict with the author's ids and without the control criteria, or an error if one of those
// is decided wrongly.
func (c checklist) settle(v grader.Verdict) (grader.Verdict, error) {
	if c.ids == nil {
		return v, nil
	}
	if c.canary != "" && v.Checks[c.canary].Satisfied {
		return v, &unreliable{"it finds the canary satisfied, a criterion that no reply meets"}
	}
	if c.negation != "" && v.Checks[c.negation].Satisfied == v.Checks[c.negated].Satisfied {
		return v, &unreliable{"it decides a criterion and its negation in the same way"}
	}
	checks := make(map[string]grader.RubricCheck, len(c.ids))
	for id, authors := range c.ids {
		checks[authors] = v.Checks[id]
	}
	v.Checks = checks
	return v, nil
}

// unreliable says which control criterion a judge has decided wrongly. The judge itself is not given that: it could
// then answer that one criterion rightly and the others as before.
type unreliable struct{ why string }

func (e *unreliable) Error() string { return e.why }

func (e *unreliable) repair() string {
	return "its decisions contradict each other or the output; decide each criterion anew, by nothing but the output"
}

// lacking says that a verdict leaves out criteria of the question.
type lacking struct{ ids, texts []string }

func (e *lacking) Error() string { return "it does not answer " + strings.Join(e.texts, ", ") }

func (e *lacking) repair() string { return "it does not answer " + strings.Join(e.ids, ", ") }

// complete returns an error for a verdict that leaves out criteria of the question.
func (c checklist) complete(v grader.Verdict) error {
	left := c.Unanswered(v)
	if len(left) == 0 {
		return nil
	}
	e := &lacking{}
	for _, id := range left {
		shown := id
		for _, r := range c.Rubrics {
			if r.ID == id {
				shown = plainText(r.Outcome)
			}
		}
		e.ids, e.texts = append(e.ids, strconv.Quote(id)), append(e.texts, strconv.Quote(shown))
		if id == c.canary {
			e.texts[len(e.texts)-1] = "the canary"
		}
	}
	return e
}
