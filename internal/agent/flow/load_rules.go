package flow

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// rule reads a transition's condition. {type: model}, and no condition, leave the choice to the model.
func rule(n source.Node) *Condition {
	if n.Kind == source.Null || n.Kind == source.Map && n.Field("type").Scalar == "model" {
		return nil
	}
	return condition(n, 0, false)
}

// maxConditionDepth bounds how deep conditions nest.
const maxConditionDepth = 20

// conditionKeys are the keys of a condition.
type conditionKeys struct {
	*Condition
	Operator source.Node `key:"operator" schema:"operator" doc:"how values are compared; also and, or, not"`
	Values   source.Node `key:"value" alias:"values,pattern" schema:"values" doc:"values or patterns: one must match"`
	All      source.Node `key:"conditions" schema:"conditions" doc:"the conditions of and, or and not"`
	One      source.Node `key:"condition" schema:"conditions" doc:"another name for conditions"`
}

// condition reads a condition on the user's message and on what a state machine has collected; facts says that it is
// about facts alone.
func condition(n source.Node, depth int, facts bool) *Condition {
	c := &Condition{}
	if depth > maxConditionDepth {
		n.Report("split the condition over several transitions", "conditions nest deeper than %d levels",
			maxConditionDepth)
		return c
	}
	if n.Kind == source.String { // `condition: always`
		c.Type = ConditionType(n.OneOf(string(Always)))
		return c
	}
	keys := conditionKeys{Condition: c}
	decode(n, &keys)
	if facts {
		c.Field = NormalKey(c.Field)
	} else {
		c.Field = fieldName(c.Field)
	}
	c.operator(keys.Operator)
	if keys.Values.Kind != source.Null {
		c.Values = values(keys.Values)
	}
	for _, nested := range []source.Node{keys.All, keys.One} {
		if nested.Kind == source.Map {
			c.Of = append(c.Of, condition(nested, depth+1, facts))
			continue
		}
		for _, item := range nested.List() {
			c.Of = append(c.Of, condition(item, depth+1, facts))
		}
	}
	if n.Kind == source.Map {
		c.check(n)
	}
	if facts && n.Kind == source.Map && c.Field == "" &&
		slices.Contains([]ConditionType{Equals, Contains, Matches}, c.Type) {
		n.Report("add `field:` with the key of a fact", "%s needs a field here", c.Type)
	}
	if facts && c.Type == Always {
		n.Report("leave `if` out", "an option that is always offered needs no condition")
	}
	return c
}

// operator reads a comparison. It may also be and, or or not, which belong in type.
func (c *Condition) operator(n source.Node) {
	if n.Kind == source.Null {
		return
	}
	text := strings.ToLower(n.Text())
	if text == string(And) || text == string(Or) || text == string(Not) {
		c.Type = ConditionType(text)
		return
	}
	operator, ok := operators[text]
	if !ok {
		n.Report(source.Suggest(text, slices.Sorted(maps.Keys(operators))), "unknown operator %q", text)
	}
	c.Operator = operator
}

func (c *Condition) check(n source.Node) {
	switch {
	case c.Type == "" && c.Operator != "":
		c.Type = Equals
	case c.Type == "" && !n.Has("type"):
		n.Report("add `type:` "+strings.Join(conditionTypes, ", "), "the condition has no type")
		return
	}
	switch c.Type {
	case And, Or, Not:
		if len(c.Of) == 0 {
			n.Report("add `conditions:` with at least one condition", "%s needs conditions", c.Type)
		}
	case Equals, Contains:
		if len(c.Values) == 0 {
			n.Report("add `value:`", "%s needs a value", c.Type)
		}
	case Matches:
		if len(c.Values) == 0 {
			n.Report("add `pattern:`", "matches needs a pattern")
		}
		for _, v := range c.Values {
			c.patterns = append(c.patterns, compile(n, v, c.CaseSensitive))
		}
	case Exists:
		if c.Field == "" {
			n.Report("add `field:`", "exists needs a field")
		}
	}
}

// compile compiles a pattern; a broken one is reported and matches nothing.
func compile(n source.Node, pattern string, caseSensitive bool) *regexp.Regexp {
	if !caseSensitive {
		pattern = "(?i)" + pattern
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		n.Report("write a Go regular expression (RE2)", "bad pattern: %s",
			strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		return nothing()
	}
	return re
}

var nothing = text.Regexp(`[^\s\S]`)

// values reads one value or a list of them, as texts.
func values(n source.Node) []string {
	if n.Kind != source.List {
		return []string{plain(n)}
	}
	var texts []string
	for _, item := range n.List() {
		texts = append(texts, plain(item))
	}
	return texts
}

// plain returns a scalar as it is written.
func plain(n source.Node) string {
	switch n.Kind {
	case source.String, source.Number, source.Bool:
		return n.Scalar
	case source.Null:
		return ""
	}
	return n.Text() // reports what it got instead
}

// actionKeys are the keys of an action.
type actionKeys struct {
	*Action
	Params source.Node `key:"params" doc:"not used"`
	Data   source.Node `key:"data" doc:"not used"`
}

// DecodeNode reads an action.
func (a *Action) DecodeNode(n source.Node) {
	keys := actionKeys{Action: a}
	decode(n, &keys)
	if n.Kind != source.Map {
		return
	}
	switch {
	case !n.Has("type"):
		n.Report("add `type:` set_field, validate, log_event, call_api or redirect", "the action has no type")
	case a.Target == "" && a.Type != "":
		n.Report("add `target:`", "%s does not say what it is about", a.Type)
	case a.Type == Validate && a.Validation == nil:
		n.Report("add `validation:` with the rules", "validate has no rules")
	}
	if a.Type == SetField || a.Type == Validate {
		a.Target = NormalKey(a.Target)
	}
}

// validationKeys are the keys of a validation.
type validationKeys struct {
	*Validation
	Pattern source.Node `key:"pattern" schema:"text" doc:"a regular expression (RE2) that the answer matches"`
}

// DecodeNode reads what an answer must satisfy.
func (v *Validation) DecodeNode(n source.Node) {
	keys := validationKeys{Validation: v}
	decode(n, &keys)
	if n.Has("pattern") {
		v.Pattern = compile(keys.Pattern, keys.Pattern.Text(), true)
	}
}
