package grader

import (
	"context"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// maxSchemaBytes bounds a reply that is checked against a schema: each fault in it costs much memory.
const maxSchemaBytes = 1 << 20

// maxDecimals bounds the decimal places of a number that is checked against a schema, and the exponent of a number in a
// schema: numbers are compared as exact fractions, whose cost grows with both. The smallest float64 has 324.
const maxDecimals = 1_000

func newIsJSON(a *Args) runner.Grader {
	schema := a.schema()
	fenced := a.BoolOr("fenced", false, "true also accepts JSON in a fenced code block that is the whole reply")
	want := "JSON"
	if schema != nil {
		want = "JSON that follows the schema"
	}
	return gradeFunc(func(_ context.Context, x *runner.Exchange) (result.Grade, error) {
		if schema != nil && len(x.Output) > maxSchemaBytes {
			return result.Grade{}, fmt.Errorf(
				"is_json: the reply is larger than %d bytes, too large to be checked against a schema", maxSchemaBytes)
		}
		passed, evidence, err := checkJSON(x.Output, schema, fenced)
		if err != nil {
			return result.Grade{}, fmt.Errorf("is_json: %w", err)
		}
		return yesNo(want, passed, evidence), nil
	})
}

// checkJSON returns an error for a reply that cannot be checked against the schema.
func checkJSON(text string, schema *jsonschema.Schema, fenced bool) (passed bool, evidence string, err error) {
	inside, wasFenced := unfence(text)
	if wasFenced && !fenced {
		return false, "JSON in a fenced code block, which `fenced: true` would accept: " + quote(text), nil
	}
	value, err := parseExactJSON(inside)
	if err != nil {
		return false, fmt.Sprintf("%s, which is not JSON: %s", quote(text), err), nil
	}
	if schema == nil {
		return true, quote(text), nil
	}
	for n := range numbers(value) {
		if readFigure(n.String()).exp < -maxDecimals {
			return false, "", fmt.Errorf(
				"the number %.20s… has more than %d decimal places, too many to be checked against a schema",
				n, maxDecimals)
		}
	}
	if faults := violations(schema.Validate(value)); len(faults) > 0 {
		return false, strings.Join(faults, "; "), nil
	}
	return true, quote(text), nil
}
