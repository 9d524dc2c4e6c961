package flow

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// rule reads a transition's condition. {type: model}, and no condition, leave the choice to the model.
func (r *reader) rule(n source.Node) *Condition {
	if n.Kind == source.Null || n.Kind == source.Map && n.Field("type").Scalar == "model" {
		return nil
	}
	return r.condition(n, 0)
}

// maxConditionDepth bounds how deep conditions nest.
const maxConditionDepth = 20

// condition reads a condition on the user's message and on what a state machine has collected.
func (r *reader) condition(n source.Node, depth int) *Condition {
	return r.conditionOn(n, depth, false)
}

// conditionOn reads a condition; facts says that it is about facts alone.
func (r *reader) conditionOn(n source.Node, depth int, facts bool) *Condition {
	c := &Condition{}
	if depth > maxConditionDepth {
		n.Report("split the condition over several transitions", "conditions nest deeper than %d levels", maxConditionDepth)
		return c
	}
	if n.Kind == source.String { // `condition: always`
		c.Type = ConditionType(n.OneOf(string(Always)))
		return c
	}
	nested := func(n source.Node) {
		if n.Kind == source.Map {
			c.Of = append(c.Of, r.conditionOn(n, depth+1, facts))
			return
		}
		for _, item := range n.List() {
			c.Of = append(c.Of, r.conditionOn(item, depth+1, facts))
		}
	}
	field := func(n source.Node) {
		if c.Field = NormalKey(n.Text()); !facts {
			c.Field = fieldName(n.Text())
		}
	}
	r.fields(n, map[string]func(source.Node){
		"type":           func(n source.Node) { c.Type = ConditionType(n.OneOf(conditionTypes...)) },
		"operator":       func(n source.Node) { c.Operator = r.operator(n, c) },
		"field":          field,
		"target":         field,
		"value":          func(n source.Node) { c.Values = values(n) },
		"values":         func(n source.Node) { c.Values = values(n) },
		"pattern":        func(n source.Node) { c.Values = values(n) },
		"conditions":     nested,
		"condition":      nested,
		"case_sensitive": func(n source.Node) { c.CaseSensitive = n.Bool() },
	})
	if n.Kind == source.Map {
		r.checkCondition(n, c)
	}
	if facts && n.Kind == source.Map && c.Field == "" && slices.Contains([]ConditionType{Equals, Contains, Matches}, c.Type) {
		n.Report("add `field:` with the key of a fact", "%s needs a field here", c.Type)
	}
	if facts && c.Type == Always {
		n.Report("leave `if` out", "an option that is always offered needs no condition")
	}
	return c
}

// operator reads a comparison. It may also be and, or or not, which belong in type.
func (r *reader) operator(n source.Node, c *Condition) Operator {
	text := strings.ToLower(n.Text())
	if text == string(And) || text == string(Or) || text == string(Not) {
		c.Type = ConditionType(text)
		return ""
	}
	operator, ok := operators[text]
	if !ok {
		n.Report(source.Suggest(text, slices.Sorted(maps.Keys(operators))), "unknown operator %q", text)
	}
	return operator
}

func (r *reader) checkCondition(n source.Node, c *Condition) {
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
		n.Report("write a Go regular expression (RE2)", "bad pattern: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		return nothing
	}
	return re
}

var nothing = regexp.MustCompile(`[^\s\S]`)

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

func (r *reader) actions(n source.Node) []Action {
	if n.Kind == source.Null {
		return nil
	}
	var actions []Action
	for _, item := range n.List() {
		actions = append(actions, r.action(item))
	}
	return actions
}

func (r *reader) action(n source.Node) Action {
	a := Action{}
	target := func(n source.Node) { a.Target = plain(n) }
	known := map[string]func(source.Node){
		"type": func(n source.Node) {
			a.Type = ActionType(n.OneOf(string(SetField), string(Validate), string(LogEvent), string(CallAPI), string(Redirect)))
		},
		"value":      func(n source.Node) { a.Value = plain(n) },
		"validation": func(n source.Node) { a.Validation = r.validation(n) },
		"rules":      func(n source.Node) { a.Validation = r.validation(n) },
		"params":     func(source.Node) {},
		"data":       func(source.Node) {},
	}
	for _, name := range []string{"target", "field", "event", "name", "to", "state", "endpoint", "url"} {
		known[name] = target
	}
	r.fields(n, known)
	if n.Kind != source.Map {
		return a
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
	return a
}

func (r *reader) validation(n source.Node) *Validation {
	v := &Validation{}
	bound := func(to **float64) func(source.Node) {
		return func(n source.Node) { *to = new(n.Number(-1e15, 1e15)) }
	}
	length := func(to **int) func(source.Node) {
		return func(n source.Node) { *to = new(n.Int(0)) }
	}
	r.fields(n, map[string]func(source.Node){
		"required": func(n source.Node) { v.Required = n.Bool() },
		"type": func(n source.Node) {
			v.Type = ValueType(n.OneOf(string(TextValue), string(NumberValue), string(EmailValue), string(PhoneValue), string(DateValue)))
		},
		"min":           bound(&v.Min),
		"max":           bound(&v.Max),
		"min_length":    length(&v.MinLength),
		"max_length":    length(&v.MaxLength),
		"pattern":       func(n source.Node) { v.Pattern = compile(n, n.Text(), true) },
		"error_message": func(n source.Node) { v.ErrorMessage = n.Text() },
	})
	return v
}
