package grader

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/ohler55/ojg/jp"

	"github.com/rehearse-dev/rehearse/internal/base/jsonpath"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// field is one value of a JSON reply with what it should be.
type field struct {
	path string
	expr jp.Expr
	// expected is used when given is true; otherwise the value at the same path of the expected output is.
	given    bool
	expected any
	weight   float64
	required bool
	// agrees compares two values and says in words what was wanted.
	agrees func(got, expected any) (ok bool, want string)
}

func newFieldAccuracy(a *Args) runner.Grader {
	list, ok := a.Node("fields", "list of mappings", "the fields to compare: path, match (exact, numeric_tolerance, date), expected, weight, required, tolerance, relative, formats", true)
	aggregation := a.OneOf("aggregation", "weighted_average scores the share of right fields, all_or_nothing 1 only if all are right", "weighted_average", "all_or_nothing")
	var fields []field
	if ok {
		for _, n := range list.List() {
			fields = append(fields, readField(n))
		}
		if list.Kind == source.List && len(fields) == 0 {
			list.Report("add at least one `- path:`", "the list is empty")
		}
	}
	check := runner.Check{Assertion: a.Assertion}
	return gradeFunc(func(_ context.Context, x *runner.Exchange) (result.Grade, error) {
		found, err := compareFields(fields, x)
		if err != nil {
			return result.Grade{}, fmt.Errorf("field_accuracy: %w", err)
		}
		return found.grade(check, x, aggregation == "all_or_nothing"), nil
	})
}

func readField(n source.Node) field {
	f := field{weight: 1, required: true}
	match, tolerance, relative := "exact", 0.0, false
	var layouts []string
	n.Read(map[string]func(source.Node){
		"path":      func(n source.Node) { f.path = n.Text() },
		"match":     func(n source.Node) { match = n.OneOf("exact", "numeric_tolerance", "date") },
		"expected":  func(n source.Node) { f.given, f.expected = true, n.Any() },
		"weight":    func(n source.Node) { f.weight = readWeight(n) },
		"required":  func(n source.Node) { f.required = n.Bool() },
		"tolerance": func(n source.Node) { tolerance = n.Number(0, unbounded) },
		"relative":  func(n source.Node) { relative = n.Bool() },
		"formats":   func(n source.Node) { layouts = readLayouts(n) },
	})
	var err error
	if f.expr, err = jsonpath.Parse(f.path); err != nil && n.Kind == source.Map {
		n.Field("path").Report(jsonpath.Hint, "not a JSONPath: %v", err)
	}
	if err == nil && !f.expr.Normal() {
		n.Field("path").Report("write $.name or $.list[0].name; json_path takes wildcards and filters", "the path of a field leads to one value")
	}
	if layouts == nil {
		for _, format := range dateFormats() {
			layout, _ := dateLayout(format)
			layouts = append(layouts, layout)
		}
	}
	switch match {
	case "numeric_tolerance":
		f.agrees = within(tolerance, relative)
	case "date":
		f.agrees = sameDay(layouts)
	default:
		f.agrees = func(got, expected any) (bool, string) { return sameJSON(got, expected), show(expected) }
	}
	return f
}

func readWeight(n source.Node) float64 {
	weight := n.Number(0, 1e6)
	if f, ok := n.Float(); ok && f == 0 {
		n.Report("use a greater number, or remove the field", "a field of weight 0 says nothing")
	}
	return weight
}

func readLayouts(n source.Node) []string {
	var layouts []string
	for _, format := range n.Texts() {
		layout, err := dateLayout(format)
		if err != nil {
			n.Report("use YYYY, MM, MMM, DD, HH, mm, ss and Z, such as DD-MMM-YYYY", "%s", err)
		}
		layouts = append(layouts, layout)
	}
	return layouts
}

// within compares numbers, or texts that are numbers. A relative tolerance is a share of the expected number, unless
// that is 0.
func within(tolerance float64, relative bool) func(got, expected any) (bool, string) {
	return func(got, expected any) (bool, string) {
		want := show(expected) + " ± " + amount(tolerance)
		if relative {
			want = show(expected) + " ± " + amount(tolerance*100) + " %"
		}
		g, ok := looseNumber(got)
		e, also := looseNumber(expected)
		if !ok || !also {
			return false, want
		}
		if tolerance == 0 {
			return sameJSON(numeric(got), numeric(expected)), want
		}
		off := math.Abs(g - e)
		rounding := 1e-15 * math.Max(math.Abs(g), math.Abs(e)) // without it, 0.4 would be farther than 0.1 from 0.3
		if relative && e != 0 {
			off, rounding = off/math.Abs(e), rounding/math.Abs(e)
		}
		return off <= tolerance+rounding, want
	}
}

func looseNumber(v any) (float64, bool) {
	if text, ok := v.(string); ok {
		f, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		return f, err == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
	}
	f, ok := figureOf(v)
	return f.float(), ok
}

// numeric returns a text that is a decimal number as that number, and any other value as it is.
func numeric(v any) any {
	text, ok := v.(string)
	if !ok {
		return v
	}
	if n, err := parseJSON(text); err == nil {
		return n
	}
	f, _ := looseNumber(v)
	return f
}

func sameDay(layouts []string) func(got, expected any) (bool, string) {
	return func(got, expected any) (bool, string) {
		want, known := parseDate(plainText(expected), layouts)
		if !known {
			return false, show(expected) + ", which is no date in a known format"
		}
		day, ok := parseDate(plainText(got), layouts)
		return ok && day == want, want
	}
}
