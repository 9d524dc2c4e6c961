package grader

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// ended stands for "no node" in a list of nodes.
const ended = ""

func newNextNode(a *Args) runner.Grader {
	allowed := a.nodes()
	names := make([]string, len(allowed))
	for i, id := range allowed {
		names[i] = nodeText(id)
	}
	want := "the flow at " + strings.Join(names, " or ")
	return gradeFunc(func(_ context.Context, x *runner.Exchange) (result.Grade, error) {
		got, problem := nextNode(x)
		if problem != "" {
			return coded(result.NodeMismatch, want, false, problem), nil
		}
		return coded(result.NodeMismatch, want, slices.Contains(allowed, got), nodeText(got)), nil
	})
}

// nodes reads value: the id of a node, null for none, or a list of those that are allowed.
func (a *Args) nodes() []string {
	const doc = "the id of the node where the flow must stand, null when it must have ended; of a list, one of them"
	a.params = append(a.params, Param{Name: "value", Kind: "text, null or list", Doc: doc, Required: true})
	if _, given := a.node.Get("value"); !given {
		a.node.Report("add `value:` — "+doc, "%s needs %q", a.Assertion.Type, "value")
		return nil
	}
	n := a.node.Field("value")
	if n.Kind != source.List {
		return []string{nodeID(n)}
	}
	if len(n.Items) == 0 {
		n.Report("add the id of a node, or null", "the list is empty")
	}
	var allowed []string
	for _, item := range n.List() {
		allowed = append(allowed, nodeID(item))
	}
	return allowed
}

func nodeID(n source.Node) string {
	if n.Kind == source.Null {
		return ended
	}
	id := n.Text()
	if n.Kind == source.String && strings.TrimSpace(id) == "" {
		n.Report("write the id of a node, or null when the flow must have ended", "the node has no id")
	}
	return id
}

// nextNode returns the flow's node after the reply: from its state, else the node that the target names.
func nextNode(x *runner.Exchange) (id, problem string) {
	shown, problem := stateOf[struct {
		Next json.RawMessage `json:"next_node_id"`
	}](x)
	if problem == "" && len(shown.Next) > 0 {
		var id *string
		if err := json.Unmarshal(shown.Next, &id); err != nil {
			return "", "a next_node_id that is no text: " + show(parsed(shown.Next))
		}
		if id == nil {
			return ended, ""
		}
		return *id, ""
	}
	if x.Reply.Node != "" {
		return x.Reply.Node, ""
	}
	if problem == "" {
		problem = noFlow
	}
	return "", problem
}

func nodeText(id string) string {
	if id == ended {
		return "no node, having ended"
	}
	return quote(id)
}

func newFlowCompleted(a *Args) runner.Grader {
	wanted := a.BoolOr("value", true, "true: the flow must have ended (the default); false: it must not")
	words := map[bool]string{true: "the flow completed", false: "the flow not completed"}
	return gradeFunc(func(_ context.Context, x *runner.Exchange) (result.Grade, error) {
		shown, problem := stateOf[struct {
			Completed *bool `json:"flow_completed"`
		}](x)
		if problem == "" && shown.Completed == nil {
			problem = noFlow
		}
		if problem != "" {
			return coded(result.NodeMismatch, words[wanted], false, problem), nil
		}
		return coded(result.NodeMismatch, words[wanted], *shown.Completed == wanted, words[*shown.Completed]), nil
	})
}
