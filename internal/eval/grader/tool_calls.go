package grader

import (
	"context"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Bounds of one list of tool calls: every wanted call is compared with every actual one.
const (
	maxWantedCalls = 200
	maxActualCalls = 2_000
)

// trajectory is one way to compare wanted with actual calls.
type trajectory struct {
	doc string
	// compare returns what is wrong, empty when nothing is.
	compare func(wanted []wantedCall, actual []actualCall) string
	// vacuous is true when an empty list of wanted calls would check nothing.
	vacuous bool
}

// trajectories are the ways to compare, by name. compare's words continue "the tool calls are".
func trajectories() map[string]trajectory {
	return map[string]trajectory{
		"exact":     {"these and no others in this order: ", sameSequence, false},
		"in_order":  {"these in this order, with others between: ", inOrder, true},
		"any_order": {"these and no others in any order: ", sameBag, false},
		"superset":  {"at least these: ", noneMissing, true},
		"subset":    {"none but these: ", noneExtra, false},
	}
}

func newToolCalls(a *Args) runner.Grader {
	match := "exact"
	modes := []string{"exact", "in_order", "any_order", "superset", "subset"}
	n, said := a.either("match", "mode", "one of "+listed(modes), "exact: these calls and no others, in this order; "+
		"in_order: these calls in this order, others may stand between; "+
		"any_order: these calls and no others, in any order; superset: at least these calls; subset: "+
		"no call but these. "+
		"A call counts once: one that is made twice must be listed twice", false)
	a.shaped("enum", modes)
	if said {
		match = n.OneOf(modes...)
	}
	list, ok := a.either("calls", "expected", "list of calls", "names of tools, or {name (or tool), args, "+
		"args_match}; args_match may also be a list of the args that are compared by value", !a.node.Has("minimums"))
	least := a.minimums()
	argsMatch := a.OneOf("args_match",
		"how args are compared unless a call says otherwise: partial: they hold what is named, as in tool_call; "+
			"exact: they are the same; subset: they hold nothing else; ignore: not at all; "+
			"superset is another name of partial", argMatches...)
	how := trajectories()[match]
	var wanted []wantedCall
	if ok {
		wanted = readCalls(list, argsMatch)
		if list.Kind == source.List && len(list.Items) == 0 && how.vacuous {
			list.Report("add a call, or write match: exact for no call at all",
				"no call is wanted, and every conversation has that")
		}
	}
	want := "tool calls are " + how.doc + callsText(wanted)
	switch {
	case !ok:
		want = "tool calls are " + least.String()
	case len(wanted) == 0:
		want = "no tool call"
	}
	if ok && len(least) > 0 {
		want += ", and " + least.String()
	}
	return gradeFunc(func(_ context.Context, x *runner.Exchange) (result.Grade, error) {
		if n := len(x.Reply.ToolCalls); n > maxActualCalls {
			return coded(result.ToolArgsMismatch, want, false, counted(n, "tool call")+", more than are compared"), nil
		}
		actual := actualCalls(x.Reply.ToolCalls)
		wrong := ""
		if ok {
			wrong = how.compare(wanted, actual)
		}
		wrong = strings.Trim(wrong+"; "+least.missing(actual), "; ")
		evidence := callsText(actual)
		if wrong != "" {
			evidence += "; " + wrong
		}
		return coded(result.ToolArgsMismatch, want, wrong == "", evidence), nil
	})
}

func readCalls(list source.Node, argsMatch string) []wantedCall {
	if len(list.Items) > maxWantedCalls {
		list.Report("split it by turns", "more than %d calls", maxWantedCalls)
		return nil
	}
	var wanted []wantedCall
	for _, n := range list.List() {
		w := wantedCall{match: argsMatch}
		if n.Kind != source.Map {
			w.name, w.match = n.Text(), argsIgnored
		} else {
			readCall(n, &w)
		}
		if n.Kind == source.String && strings.TrimSpace(w.name) == "" {
			n.Report("write the name of the tool", "a call needs a name")
		}
		wanted = append(wanted, w)
	}
	return wanted
}

// callKeys has the keys of a wanted call.
type callKeys struct {
	Name        string      `json:"name" alias:"tool"`
	Args        source.Node `json:"args"`
	ArgsMatch   source.Node `json:"args_match" schema:"args_match"`
	MaxDuration source.Node `json:"max_duration_ms" doc:"has no effect"`
}

func readCall(n source.Node, w *wantedCall) {
	var k callKeys
	source.Decode(n, &k)
	w.name = k.Name
	match := ""
	switch {
	case k.Args.Kind == source.Null:
	case k.Args.Kind == source.String && k.Args.Scalar == "any":
		match = argsIgnored
	default:
		w.args = readArgs(k.Args)
	}
	if k.ArgsMatch.Kind != source.Null {
		match, w.fields = readArgsMatch(k.ArgsMatch)
	}
	if k.MaxDuration.Kind != source.Null {
		k.MaxDuration.Warn("remove it, or use latency for the whole reply",
			"max_duration_ms of a tool call has no effect: targets do not report how long a call took")
	}
	switch {
	case match != "":
		w.match = match
	case w.args == nil: // the author gave no args
		w.match = argsIgnored
	}
	if w.args == nil {
		w.args = map[string]any{}
	}
	if strings.TrimSpace(w.name) == "" {
		n.Report("write {name: TOOL, args: {…}}", "a call needs a name")
	}
}
