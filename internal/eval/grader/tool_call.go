package grader

import (
	"context"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

func newToolCall(a *Args) runner.Grader {
	w := wantedCall{match: argsIgnored}
	w.name = a.Text("name", "the tool")
	if a.node.Has("name") && strings.TrimSpace(w.name) == "" {
		a.Report("name", "write the name of the tool", "the name is empty")
	}
	if n, ok := a.Node("args", "mapping", "what the args must hold: keys that are not named here may have any value, "+
		"also deeper down; lists have as many elements", false); ok {
		w.args, w.match = readArgs(n), argsPartial
	}
	position := a.OneOf("position", "which call is looked at, of the turn or of the whole conversation", "first",
		"any", "last")
	want := position + " tool call " + w.String()
	return gradeFunc(func(_ context.Context, x *runner.Exchange) (result.Grade, error) {
		calls := actualCalls(x.Reply.ToolCalls)
		looked := calls
		if len(calls) > 0 {
			switch position {
			case "first":
				looked = calls[:1]
			case "last":
				looked = calls[len(calls)-1:]
			}
		}
		return coded(result.ToolArgsMismatch, want, slices.ContainsFunc(looked, w.fits), callsText(looked)), nil
	})
}
