package grader

import (
	"context"
	"encoding/json"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

func newOptionsContains(a *Args) runner.Grader {
	wanted := a.options()
	texts := make([]string, len(wanted))
	for i, option := range wanted {
		texts[i] = show(option)
	}
	want := "options " + fewOf(texts)
	return gradeFunc(func(_ context.Context, x *runner.Exchange) (result.Grade, error) {
		offered, problem := optionsOf(x)
		if problem != "" {
			return coded(result.NodeMismatch, want, false, problem), nil
		}
		var missing []string
		for i, option := range wanted {
			if !anyContains(offered, option) {
				missing = append(missing, texts[i])
			}
		}
		if len(missing) > 0 {
			return coded(result.NodeMismatch, want, false, "no "+fewOf(missing)+" among "+optionsText(offered)), nil
		}
		return coded(result.NodeMismatch, want, true, optionsText(offered)), nil
	})
}

// options reads value: options as mappings of the fields to compare, or IDs alone.
func (a *Args) options() []any {
	n, ok := a.Node("value", "list", "options as {id: …}, {label: …} or both, or just ids", true)
	a.refers("wanted_options")
	if !ok {
		return nil
	}
	if n.Kind == source.List && len(n.Items) == 0 {
		n.Report("add an option such as {id: opt_1}", "the list is empty")
	}
	var wanted []any
	for _, item := range n.List() {
		if item.Kind != source.Map {
			wanted = append(wanted, map[string]any{"id": item.Text()})
			continue
		}
		if len(item.Fields) == 0 {
			item.Report("write {id: …} or {label: …}", "the option says nothing")
		}
		wanted = append(wanted, item.Any())
	}
	return wanted
}

// optionsOf returns the options of the flow's current node.
func optionsOf(x *runner.Exchange) (offered []any, problem string) {
	shown, problem := stateOf[struct {
		Node json.RawMessage `json:"next_node_descriptor"`
	}](x)
	switch {
	case problem != "":
		return nil, problem
	case len(shown.Node) == 0:
		return nil, noFlow
	}
	node, _ := parsed(shown.Node).(map[string]any)
	if node == nil {
		return nil, "no node: the flow has ended"
	}
	offered, _ = node["options"].([]any)
	return offered, ""
}

func anyContains(offered []any, wanted any) bool {
	for _, option := range offered {
		if contains(option, wanted) {
			return true
		}
	}
	return false
}

func optionsText(offered []any) string {
	if len(offered) == 0 {
		return "no options"
	}
	texts := make([]string, len(offered))
	for i, option := range offered {
		texts[i] = show(option)
	}
	return fewOf(texts)
}
