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

func newIsJSON(a *Args) runner.Grader {
	schema := a.schema()
	fenced := a.BoolOr("fenced", false, "true also accepts JSON in a fenced code block that is the whole reply")
	want := "JSON"
	if schema != nil {
		want = "JSON that follows the schema"
	}
	return gradeFunc(func(_ context.Context, x *runner.Exchange) (result.Grade, error) {
		if schema != nil && len(x.Output) > maxSchemaBytes {
			return result.Grade{}, fmt.Errorf("is_json: the reply is larger than %d bytes, too large to be checked against a schema", maxSchemaBytes)
		}
		passed, evidence := checkJSON(x.Output, schema, fenced)
		return yesNo(want, passed, evidence), nil
	})
}

func checkJSON(text string, schema *jsonschema.Schema, fenced bool) (passed bool, evidence string) {
	inside, wasFenced := unfence(text)
	if wasFenced && !fenced {
		return false, "JSON in a fenced code block, which `fenced: true` would accept: " + quote(text)
	}
	value, err := parseJSON(inside)
	if err != nil {
		return false, fmt.Sprintf("%s, which is not JSON: %s", quote(text), err)
	}
	if schema != nil {
		if faults := violations(schema.Validate(jsonNumbers(value))); len(faults) > 0 {
			return false, strings.Join(faults, "; ")
		}
	}
	return true, quote(text)
}
