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
	list, ok := a.Node("fields", "list of mappings", "the fields to compare: path, match (exact, numeric_tolerance, "+
		"date), expected, weight, required, tolerance, relative, formats", true)
	aggregation := a.OneOf("aggregation",
		"weighted_average scores the share of right fields, all_or_nothing 1 only if all are right", "weighted_average",
		"all_or_nothing")
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

// accurateField has the keys of one field.
type accurateField struct {
	Path      string   `json:"path"`
	Match     string   `json:"match" enum:"exact,numeric_tolerance,date"`
	Expected  any      `json:"expected"`
	Weight    float64  `json:"weight" minimum:"0" maximum:"1000000"`
	Required  bool     `json:"required"`
	Tolerance float64  `json:"tolerance" minimum:"0"`
	Relative  bool     `json:"relative"`
	Formats   []string `json:"formats"`
}

func readField(n source.Node) field {
	k := accurateField{Weight: 1, Required: true}
	source.Decode(n, &k)
	f := field{path: k.Path, given: k.Expected != nil, expected: k.Expected, weight: k.Weight, required: k.Required}
	var err error
	if f.expr, err = jsonpath.Parse(f.path); err != nil && n.Kind == source.Map {
		n.Field("path").Report(jsonpath.Hint, "not a JSONPath: %v", err)
	}
	if err == nil && !f.expr.Normal() {
		n.Field("path").Report("write $.name or $.list[0].name; json_path takes wildcards and filters",
			"the path of a field leads to one value")
	}
	if weight, ok := n.Field("weight").Float(); ok && weight == 0 {
		n.Field("weight").Report("use a greater number, or remove the field", "a field of weight 0 has no effect")
	}
	formats := k.Formats
	if len(formats) == 0 {
		formats = dateFormats()
	}
	var layouts []string
	for _, format := range formats {
		layout, err := dateLayout(format)
		if err != nil {
			n.Field("formats").
				Report("use YYYY, MM, MMM, DD, HH, mm, ss and Z, such as DD-MMM-YYYY", "%s", err)
		}
		layouts = append(layouts, layout)
	}
	switch k.Match {
	case "numeric_tolerance":
		f.agrees = within(k.Tolerance, k.Relative)
	case "date":
		f.agrees = sameDay(layouts)
	default:
		f.agrees = func(got, expected any) (bool, string) { return sameJSON(got, expected), show(expected) }
	}
	return f
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
