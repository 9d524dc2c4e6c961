package grader

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// Args reads the parameters of one assertion. The parameters that a constructor asks for are those that the type
// accepts. They make up its reference, and any other key is unknown. So a constructor must ask for all of its
// parameters before it looks at a value.
type Args struct {
	// Assertion is the whole entry, with the fields that every type has.
	Assertion suite.Assertion
	node      source.Node
	set       *Set
	params    []Param
	// aliases are second names of parameters; the reference does not list them.
	aliases []string
	// depth is the number of assertions that enclose this one.
	depth int
}

// Param documents one parameter.
type Param struct {
	Name     string `json:"name"`
	Kind     string `json:"kind"`
	Doc      string `json:"doc"`
	Required bool   `json:"required,omitempty"`

	// alias is another name of the parameter, and shape what a value may look like beyond its Kind; both are for the
	// schema.
	alias string
	shape map[string]any
}

// shaped adds to the shape of the parameter that was asked for last.
func (a *Args) shaped(keyword string, value any) {
	p := &a.params[len(a.params)-1]
	if p.shape == nil {
		p.shape = map[string]any{}
	}
	p.shape[keyword] = value
}

// refers says that the parameter that was asked for last looks like one of partSchemas.
func (a *Args) refers(part string) {
	a.params[len(a.params)-1].shape = ref(part)
}

// within says of the parameter that was asked for last between which numbers it lies.
func (a *Args) within(low, high float64) {
	if !math.IsInf(low, 0) {
		a.shaped("minimum", low)
	}
	if !math.IsInf(high, 0) {
		a.shaped("maximum", high)
	}
}

// Report files a problem with the parameter called name.
func (a *Args) Report(name, hint, format string, args ...any) {
	a.node.Field(name).Report(hint, format, args...)
}

func (a *Args) callJudge(name, kind, doc string, required bool) (source.Node, bool) {
	a.params = append(a.params, Param{Name: name, Kind: kind, Doc: doc, Required: required})
	if a.node.Has(name) {
		return a.node.Field(name), true
	}
	if required {
		a.node.Report("add `"+name+":` — "+doc, "%s needs %q", a.Assertion.Type, name)
	}
	return source.Node{}, false
}

// either asks for a parameter that has a second name.
func (a *Args) either(name, alias, kind, doc string, required bool) (source.Node, bool) {
	a.params = append(a.params, Param{
		Name: name, Kind: kind, Doc: doc + " (or " + alias + ")", Required: required, alias: alias,
	})
	a.aliases = append(a.aliases, alias)
	first, second := a.node.Has(name), a.node.Has(alias)
	switch {
	case first && second:
		a.Report(alias, "keep one of the two", "%s and %s are the same", name, alias)
		return a.node.Field(name), true
	case first:
		return a.node.Field(name), true
	case second:
		return a.node.Field(alias), true
	case required:
		a.node.Report("add `"+name+":` — "+doc, "%s needs %q", a.Assertion.Type, name)
	}
	return source.Node{}, false
}

// Text returns a required text.
func (a *Args) Text(name, doc string) string {
	if n, ok := a.callJudge(name, "text", doc, true); ok {
		return n.Text()
	}
	return ""
}

// TextOr returns a text, or the fallback.
func (a *Args) TextOr(name, fallback, doc string) string {
	if n, ok := a.callJudge(name, "text", doc, false); ok {
		return n.Text()
	}
	return fallback
}

// Texts returns a required list of at least one text; a single text is a list of one.
func (a *Args) Texts(name, doc string) []string {
	n, ok := a.callJudge(name, "list of texts", doc, true)
	if !ok {
		return nil
	}
	texts := n.Texts()
	if n.Kind == source.List && len(n.Items) == 0 {
		n.Report("add at least one text", "the list is empty")
	}
	return texts
}

// TextsOr returns a list of texts, or nil.
func (a *Args) TextsOr(name, doc string) []string {
	if n, ok := a.callJudge(name, "list of texts", doc, false); ok {
		return n.Texts()
	}
	return nil
}

// NumberOr returns a number between low and high, or the fallback.
func (a *Args) NumberOr(name string, fallback, low, high float64, doc string) float64 {
	n, ok := a.callJudge(name, "number", doc, false)
	a.within(low, high)
	if ok {
		return n.Number(low, high)
	}
	return fallback
}

// Number returns a required number between low and high.
func (a *Args) Number(name string, low, high float64, doc string) float64 {
	n, ok := a.callJudge(name, "number", doc, true)
	a.within(low, high)
	if ok {
		return n.Number(low, high)
	}
	return 0
}

// IntOr returns a whole number of at least low, or the fallback.
func (a *Args) IntOr(name string, fallback, low int, doc string) int {
	n, ok := a.callJudge(name, "whole number", doc, false)
	a.within(float64(low), unbounded)
	if ok {
		return n.Int(low)
	}
	return fallback
}

// BoolOr returns true or false, or the fallback.
func (a *Args) BoolOr(name string, fallback bool, doc string) bool {
	if n, ok := a.callJudge(name, "true or false", doc, false); ok {
		return n.Bool()
	}
	return fallback
}

// DurationOr returns a time span, or the fallback.
func (a *Args) DurationOr(name string, fallback time.Duration, doc string) time.Duration {
	if n, ok := a.callJudge(name, "time span", doc, false); ok {
		return n.Duration()
	}
	return fallback
}

// OneOf returns one of the choices; the first is the default.
func (a *Args) OneOf(name, doc string, choices ...string) string {
	n, ok := a.callJudge(name, "one of "+listed(choices), doc, false)
	a.shaped("enum", choices)
	if ok {
		return n.OneOf(choices...)
	}
	return choices[0]
}

// Node returns the unread parameter, for shapes that the other methods do not cover; ok is false when it is absent.
func (a *Args) Node(name, kind, doc string, required bool) (n source.Node, ok bool) {
	return a.callJudge(name, kind, doc, required)
}

// rest accepts the parameters that were not asked for so far, and returns them.
func (a *Args) rest() map[string]any {
	others := map[string]any{}
	for _, f := range a.node.Fields {
		if !a.knows(f.Name) {
			others[f.Name] = f.Value.Any()
			a.aliases = append(a.aliases, f.Name)
		}
	}
	return others
}

// PassFrom sets the score from which this type passes when the author gives no threshold.
// A negated assertion passes below it, because the runner inverts the score.
func (a *Args) PassFrom(score float64) {
	if a.Assertion.Threshold >= 0 {
		return
	}
	a.Assertion.Threshold = score
	if a.Assertion.Negate {
		a.Assertion.Threshold = 1 - score
	}
}

// commonFields belong to every assertion and are read by package suite.
var commonFields = []string{"type", "name", "weight", "required", "min_score", "negate", "threshold"}

// known returns the names of the keys that the entry may have.
func (a *Args) known() []string {
	known := slices.Concat(commonFields, a.aliases)
	for _, p := range a.params {
		known = append(known, p.Name)
	}
	return known
}

// knows reports whether the entry may have a key.
func (a *Args) knows(name string) bool {
	return slices.Contains(commonFields, name) || slices.Contains(a.aliases, name) ||
		slices.ContainsFunc(a.params, func(p Param) bool { return p.Name == name })
}

func (a *Args) reportUnknown() {
	for _, f := range a.node.Fields {
		if !a.knows(f.Name) {
			known := a.known()
			a.Report(f.Name, source.Suggest(f.Name, known), "unknown key %q for %s", f.Name, a.Assertion.Type)
		}
	}
}

func listed(choices []string) string { return strings.Join(choices, ", ") }

// unbounded is the open end of a range of numbers.
var unbounded = math.Inf(1)
