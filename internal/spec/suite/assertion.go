package suite

import (
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Rubrics is the type of an assertion made of plain strings.
const Rubrics = "rubrics"

// Assertions reads a list of assertions in which strings and mappings may mix.
// The strings of one list become a single assertion of type rubrics, standing where the first of them stands.
// Problems go to the node's reader. Types and their parameters are not checked here.
func Assertions(n source.Node, dir string) []Assertion {
	var all []Assertion
	strings := source.Value{Kind: source.List}
	rubrics := -1
	for _, item := range n.List() {
		switch item.Kind {
		case source.String:
			if blank(item.Scalar) {
				item.Report("say what the judge should look for, or remove the line", "the criterion is empty")
				continue
			}
			if rubrics < 0 {
				rubrics = len(all)
				all = append(all, plainAssertion(Rubrics, item, dir))
			}
			strings.Items = append(strings.Items, item.Value)
		case source.Map:
			all = append(all, readAssertion(item, dir))
		default:
			item.Report("write a criterion in words, or a mapping with a type", "expected an assertion, got %s",
				item.Kind)
		}
	}
	if rubrics >= 0 {
		params := source.Value{Kind: source.Map, Line: n.Line, Column: n.Column}
		params.Fields = []source.Field{{Name: "criteria", Value: strings}}
		all[rubrics].Params = all[rubrics].Params.With(params)
	}
	return all
}

// negation before a type negates its assertion.
const negation = "not_"

func underscored(typ string) string { return strings.ReplaceAll(typ, "-", "_") }

// typeName returns the type of a written assertion, without a negation.
func typeName(assertion source.Value) string {
	typ, _ := assertion.Get("type")
	return strings.TrimPrefix(underscored(typ.Scalar), negation)
}

func plainAssertion(kind string, n source.Node, dir string) Assertion {
	return Assertion{Type: kind, Weight: 1, Threshold: -1, Params: n, Dir: dir}
}

func readAssertion(n source.Node, dir string) Assertion {
	n = n.With(withoutRefused(n))
	a := plainAssertion("", n, dir)
	if !n.Has("type") || n.Field("type").Kind == source.String && blank(n.Field("type").Scalar) {
		n.Report("add `type:` (see `rehearse graders`); a criterion in words that holds a colon needs quotes",
			"an assertion needs a type")
		return a
	}
	a.Type = underscored(n.Field("type").Text())
	if a.Type == skillTrigger {
		refuseSkillTrigger(n)
		a.Type = ""
		return a
	}
	if plain, negated := strings.CutPrefix(a.Type, negation); negated {
		a.Type, a.Negate = plain, true
	}
	for _, f := range n.Fields {
		if f.Value.Kind == source.Null {
			continue
		}
		value := n.Field(f.Name)
		switch f.Name {
		case "name":
			a.Name = value.Text()
		case "weight":
			a.Weight = value.Number(0, 1e6)
		case "required":
			a.Required = readRequired(value)
		case "min_score":
			a.MinScore = value.Number(0, 1)
		case "negate":
			a.Negate = a.Negate != value.Bool()
		case "threshold":
			a.Threshold = value.Number(0, 1e12)
		}
	}
	return a
}

// readRequired reads true, false, or the score that is required.
func readRequired(n source.Node) *float64 {
	required := -1.0
	if n.Kind == source.Number {
		required = n.Number(0, 1)
	} else if !n.Bool() {
		return nil
	}
	return &required
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }
