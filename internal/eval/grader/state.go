package grader

import (
	"context"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/jsonpath"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

func newState(a *Args) runner.Grader {
	path := a.Text("path", "a JSONPath into the agent's state, such as $.cart.items[0].sku")
	expr := a.jsonPath(path)
	check := a.valueCheck()
	want, code := "state "+path+" "+check.want, stateCode(path)
	return gradeFunc(func(_ context.Context, x *runner.Exchange) (result.Grade, error) {
		doc, problem := stateDocument(x)
		if problem != "" {
			return coded(code, want, false, problem), nil
		}
		passed, evidence := check.all(jsonpath.Values(expr, doc))
		return coded(code, want, passed, evidence), nil
	})
}

func stateDocument(x *runner.Exchange) (doc any, problem string) {
	if len(x.Reply.State) == 0 {
		return nil, "the agent shows no state"
	}
	doc, err := parseJSON(string(x.Reply.State))
	if err != nil {
		problem = "a state that is not JSON: " + err.Error()
	}
	return doc, problem
}

// stateCode returns the failure code of a wrong state: it depends on whether the path leads to the memory or elsewhere.
func stateCode(path string) result.Code {
	if strings.HasPrefix(strings.TrimLeft(path, "$.['\""), "memory") {
		return result.FactDrift
	}
	return result.NodeMismatch
}
