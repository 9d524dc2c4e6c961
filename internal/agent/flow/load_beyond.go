package flow

import (
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// The names that stand for places instead of nodes.
const (
	// toCaller leads from a called flow back to the flow that calls it; elsewhere it ends the flow, as null does.
	toCaller = "@return"
	// toStart leads from a global option to the first target of the start.
	toStart = "@start"
)

// maxGlobals bounds the global options: each prompt has them all.
const maxGlobals = 50

// targetOf reads where something leads: the id of a node, or null or @return for an end, which are empty.
func targetOf(n source.Node, what string) string {
	if n.Kind == source.Null {
		return ""
	}
	target := n.Text()
	switch {
	case target == "" && n.Kind == source.String:
		n.Report("write the id of a node, or null where the flow ends", "%s leads to a node without a name", what)
	case target == toCaller:
		return ""
	}
	return target
}

// noMatchKeys are the keys of a no_match.
type noMatchKeys struct {
	*NoMatch
	Next source.Node `key:"next" schema:"target" doc:"a node; null or @return where the flow ends"`
}

// noMatch reads where a conversation goes that stays at a node too often.
func noMatch(n source.Node, node string) *NoMatch {
	m := &NoMatch{}
	what := fmt.Sprintf("node %q, no_match", node)
	keys := noMatchKeys{NoMatch: m}
	decode(n, &keys)
	m.target = targetOf(keys.Next, what)
	if n.Kind == source.Map {
		for _, name := range []string{"max", "next"} {
			if _, given := n.Get(name); !given || name == "max" && !n.Has(name) {
				n.Report("write {max: 2, next: NODE, null or @return}", "%s needs %q", what, name)
			}
		}
	}
	m.option = &Option{ID: Stay, Label: "no match", target: m.target, at: standing(n)}
	return m
}

// checkCall reports what a node that calls another flow lacks.
func checkCall(n source.Node, node *Node) {
	if !n.Has("flow") {
		n.Report("add `flow:` with the id of a flow of the same folder", "call node %q does not name a flow", node.ID)
	}
	if _, given := n.Get("next"); !given {
		n.Report("add `next:` with a node, or null where the flow ends",
			"call node %q does not say what comes after it", node.ID)
	}
	if len(node.Options) == 0 { // null is not read
		node.Options = []*Option{{ID: "next", at: standing(n)}}
	}
	for _, name := range []string{"options", "prompt", "tools", "no_match", "globals"} {
		if n.Has(name) {
			n.Field(name).Report("put it into the called flow", "call node %q has %s", node.ID, name)
		}
	}
}

// globals reads the options that are offered everywhere.
func (r *reader) globals(n source.Node) {
	items := n.List()
	if len(n.Items) > maxGlobals {
		n.Report("offer the rest at the nodes that need it", "there are more than %d global options", maxGlobals)
	}
	for _, item := range items {
		o := readOption(item, "", true)
		o.Global = o.ID
		r.flow.Globals = append(r.flow.Globals, o)
	}
}

// connectGlobals resolves the targets of the global options, checks their names, and offers them at the nodes.
func (r *reader) connectGlobals() {
	if len(r.flow.Globals) == 0 || r.flow.Start == nil {
		return
	}
	for _, o := range r.flow.Globals {
		if o.target == toStart && len(r.flow.Start.Options) > 0 {
			o.target = r.flow.Start.Options[0].target
		}
		r.connectOption(nil, o)
	}
	r.twice(r.flow.Globals, "the flow has two global options %q")
	global := map[string]bool{}
	for _, o := range r.flow.Globals {
		global[o.ID] = true
	}
	for _, node := range r.flow.Nodes {
		if node.Type == Call { // they are offered at the nodes of the called flow
			node.Globals = r.flow.Globals
		}
		if node.Type != Conversation {
			continue
		}
		for _, o := range node.Options {
			if global[o.ID] {
				r.report(o.at, "give one of them another id", "node %q, option %q has the id of a global option",
					node.ID, o.ID)
			}
		}
		if !node.alone {
			node.Globals = r.flow.Globals
		}
	}
}

// twice reports options that have one id.
func (r *reader) twice(options []*Option, format string, args ...any) {
	seen := map[string]bool{}
	for _, o := range options {
		if seen[o.ID] && o.ID != "" {
			r.report(o.at, "give each option an id of its own", format, append(args, o.ID)...)
		}
		seen[o.ID] = true
	}
}
