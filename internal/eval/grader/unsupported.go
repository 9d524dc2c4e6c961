package grader

import (
	"context"
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// newUnsupported returns a grader that never decides: neither negation, weight nor an enclosing composite makes a
// verdict of it.
func newUnsupported(a *Args) runner.Grader {
	from := a.Text("from", "the tool or format that the check comes from")
	original, _ := a.Node("original", "mapping", "the check as the tool has it", true)
	why := a.Text("why", "why the check cannot run here, and what comes closest to it")
	if original.Kind != source.Map && a.node.Has("original") {
		a.Report("original", "write the check as a mapping", "expected a mapping, got %s", original.Kind)
	}
	err := fmt.Errorf("%s of %s is not supported: %s", checkName(original.Value), from, why)
	a.node.WarnEach("replace the check or remove it; until then the test's verdict is an error", "%v", err)
	return gradeFunc(func(context.Context, *runner.Exchange) (result.Grade, error) { return result.Grade{}, err })
}

// checkName returns the type of another tool's check, or its keys if it has none.
func checkName(original source.Value) string {
	if kind, _ := original.Get("type"); strings.TrimSpace(kind.Scalar) != "" {
		return "the check " + kind.Scalar
	}
	var keys []string
	for _, f := range original.Fields {
		keys = append(keys, f.Name)
	}
	if len(keys) == 0 {
		return "a check"
	}
	return "the check " + fewOf(keys)
}
