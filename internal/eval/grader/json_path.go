package grader

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ohler55/ojg/jp"

	"github.com/rehearse-dev/rehearse/internal/base/jsonpath"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// valueCheck is what json_path wants of each value at the path.
type valueCheck struct {
	want string
	// absent is true when there must be no value at the path.
	absent   bool
	contains func(v any) bool
}

func newJSONPath(a *Args) runner.Grader {
	path := a.Text("path", "a JSONPath such as $.items[0].price or $.items[?(@.name == 'tea')].price")
	expr := a.jsonPath(path)
	check := a.valueCheck()
	want := path + " " + check.want
	return gradeFunc(func(_ context.Context, x *runner.Exchange) (result.Grade, error) {
		doc, err := lenientJSON(x.Output)
		if err != nil {
			return yesNo(want, false, fmt.Sprintf("%s, which is not JSON: %s", quote(x.Output), err)), nil
		}
		passed, evidence := check.all(jsonpath.Values(expr, doc))
		return yesNo(want, passed, evidence), nil
	})
}

// all reports whether there is at least one value and every value is as wanted.
func (c valueCheck) all(values []any) (passed bool, evidence string) {
	if c.absent {
		return len(values) == 0, found(values)
	}
	if len(values) == 0 {
		return false, "nothing at that path"
	}
	worst := ""
	for _, v := range values {
		// The library returns the entries of an object in random order. The record must not depend on it.
		if text := show(v); !c.contains(v) && (worst == "" || text < worst) {
			worst = text
		}
	}
	if worst != "" {
		return false, worst
	}
	return true, found(values)
}

func found(values []any) string {
	switch len(values) {
	case 0:
		return "nothing at that path"
	case 1:
		return show(values[0])
	}
	return fmt.Sprintf("%d values", len(values))
}

// jsonPath compiles a path; a bad one is reported.
func (a *Args) jsonPath(path string) jp.Expr {
	expr, err := jsonpath.Parse(path)
	if err != nil && a.node.Has("path") {
		a.Report("path", jsonpath.Hint, "not a JSONPath: %v", err)
	}
	return expr
}

// valueCheck reads equals, contains, matches, exists, min and max. An author gives exactly one of them, or both min and
// max.
func (a *Args) valueCheck() valueCheck {
	equals, _ := a.Node("equals", "any value",
		`the value must be this; 1 and 1.0 are the same, 1 and "1" are not`, false)
	part := a.TextOr("contains", "", "a text must hold this, a list must have it as an element, a mapping as a key")
	pattern := a.TextOr("matches", "", "the value, a text or what JSON writes for it, must match this RE2 pattern")
	exists := a.BoolOr("exists", true, "true: the path leads somewhere (the default); false: it leads nowhere")
	low := a.NumberOr("min", -unbounded, -unbounded, unbounded, "the value must be a number of at least this")
	high := a.NumberOr("max", unbounded, -unbounded, unbounded, "the value must be a number of at most this")

	given := a.given("equals", "contains", "matches", "exists", "min", "max")
	if len(given) > 1 && !slices.Equal(given, []string{"min", "max"}) {
		a.Report(given[1], "write a second "+a.Assertion.Type+" assertion", "%s cannot stand beside %s",
			given[1], given[0])
	}
	if low > high {
		a.Report("min", "swap min and max", "min %g is greater than max %g", low, high)
	}
	switch given = append(given, "exists"); given[0] {
	case "equals":
		wanted := equals.Any()
		return valueCheck{want: "equals " + show(wanted), contains: func(v any) bool { return sameJSON(v, wanted) }}
	case "contains":
		return valueCheck{want: "contains " + quote(part), contains: func(v any) bool { return containsPart(v, part) }}
	case "matches":
		re := a.pattern("matches", pattern, "")
		return valueCheck{want: "matches " + quote(pattern), contains: func(v any) bool {
			return re.MatchString(caseCounts.of(plainText(v)))
		}}
	case "min", "max":
		least, greatest := a.bound("min"), a.bound("max")
		return valueCheck{want: rangeWanted(low, high), contains: func(v any) bool {
			n, ok := figureOf(v)
			return ok && (math.IsInf(low, -1) || n.compare(least) >= 0) &&
				(math.IsInf(high, 1) || n.compare(greatest) <= 0)
		}}
	}
	if !exists {
		return valueCheck{want: "does not exist", absent: true}
	}
	return valueCheck{want: "exists", contains: func(any) bool { return true }}
}

// given returns the names that the author wrote; null counts as a value here.
func (a *Args) given(names ...string) []string {
	var given []string
	for _, name := range names {
		if _, ok := a.node.Get(name); ok {
			given = append(given, name)
		}
	}
	return given
}

func rangeWanted(low, high float64) string {
	switch {
	case math.IsInf(high, 1):
		return "is at least " + amount(low)
	case math.IsInf(low, -1):
		return "is at most " + amount(high)
	}
	return "is from " + amount(low) + " to " + amount(high)
}

func containsPart(v any, part string) bool {
	switch v := v.(type) {
	case string:
		return strings.Contains(caseCounts.of(v), caseCounts.of(part))
	case []any:
		return slices.ContainsFunc(v, func(element any) bool {
			return caseCounts.of(plainText(element)) == caseCounts.of(part)
		})
	case map[string]any:
		_, ok := v[part]
		return ok
	}
	return false
}

// bound returns the number that was read as a parameter, with all of its digits.
func (a *Args) bound(name string) figure {
	f, _ := figureOf(a.node.Field(name).With(numberOf(a.node.Field(name).Value)).Any())
	return f
}

// numberOf returns a number that was written as text as the number.
func numberOf(v source.Value) source.Value {
	if v.Kind == source.String {
		v.Kind = source.Number
	}
	return v
}

// plainText returns a text as it is and anything else as JSON.
func plainText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return jsonText(plainNumber(v.String()))
	}
	return jsonText(v)
}
