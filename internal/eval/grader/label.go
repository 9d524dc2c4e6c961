package grader

import (
	"context"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

func newLabel(a *Args) runner.Grader {
	var expected []string
	read := Labels{}
	const doc = "the label of the message; of a list, all of its labels in any order, with [] for none"
	if n, ok := a.Node("value", "text or list of texts", doc, true); ok {
		read.Several = n.Kind == source.List
		expected = n.Texts()
	}
	read.Known = append(a.TextsOr("labels",
		"every label that there is; a reply in words is a prediction only if it is one of these (default: value)"),
		expected...)
	want := "the label " + labelText(expected)
	return gradeFunc(func(_ context.Context, x *runner.Exchange) (result.Grade, error) {
		p := read.Prediction(x.Output, x.Reply.Node, x.Reply.State)
		got := "no prediction"
		if !p.Null {
			got = "the label " + labelText(p.Labels)
		}
		return coded(result.AssistantContent, want, p.Correct(expected), got), nil
	})
}

func labelText(labels []string) string {
	if len(labels) == 0 {
		return "none"
	}
	quoted := make([]string, len(labels))
	for i, label := range labels {
		quoted[i] = quote(label)
	}
	return strings.Join(quoted, ", ")
}
