package grader

import (
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
)

// newContains returns the constructor of contains and icontains.
func newContains(c letterCase) func(*Args) runner.Grader {
	return func(a *Args) runner.Grader {
		values := a.values("the text that the reply must hold; of a list, every text")
		if a.Assertion.Negate && len(values) > 1 {
			a.Report("type", "use not_contains_any (none of them) or not_contains_all (not all of them together)",
				"not_%s with several values can be read in two ways", a.Assertion.Type)
		}
		return containsAll(values, c)
	}
}

func newContainsAll(c letterCase) func(*Args) runner.Grader {
	return func(a *Args) runner.Grader {
		return containsAll(a.values("the texts that the reply must hold, every one"), c)
	}
}

func newContainsAny(c letterCase) func(*Args) runner.Grader {
	return func(a *Args) runner.Grader {
		values := a.values("the texts of which the reply must hold at least one")
		return pieceCheck("contains any of "+quoteAll(values)+c.note(), c, func(text string) (bool, string) {
			folded := c.of(text)
			for _, v := range values {
				if strings.Contains(folded, c.of(v)) {
					return true, "found " + quote(v)
				}
			}
			return false, "none of them in " + quote(text)
		}, occurrences(values, c))
	}
}

func containsAll(values []string, c letterCase) runner.Grader {
	want := "contains " + quoteAll(values) + c.note()
	if len(values) > 1 {
		want = "contains all of " + quoteAll(values) + c.note()
	}
	return pieceCheck(want, c, func(text string) (bool, string) {
		folded := c.of(text)
		var missing []string
		for _, v := range values {
			if !strings.Contains(folded, c.of(v)) {
				missing = append(missing, v)
			}
		}
		if len(missing) > 0 {
			return false, "no " + quoteAll(missing) + " in " + quote(text)
		}
		return true, "found " + quoteAll(values)
	}, occurrences(values, c))
}

// values reads value or values: a text or a list of texts. Empty texts are refused, since every reply contains them.
func (a *Args) values(doc string) []string {
	n, ok := a.either("value", "values", "text or list of texts", doc, true)
	if !ok {
		return nil
	}
	texts := n.Texts()
	if n.Kind == source.List && len(n.Items) == 0 {
		n.Report("add at least one text", "the list is empty")
	}
	for i, t := range texts {
		if t != "" {
			continue
		}
		at := n
		if n.Kind == source.List {
			at = item(n, i)
		}
		at.Report("write the text to look for", "the text is empty, and every reply holds that")
	}
	return texts
}

// item returns an element of a list.
func item(n source.Node, index int) source.Node {
	for i, element := range n.List() {
		if i == index {
			return element
		}
	}
	return n
}
