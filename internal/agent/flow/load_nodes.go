package flow

import (
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/base/source"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

var nodeID = text.Regexp(`^[a-z0-9_]+$`)

// flowKeys are the keys of flows of both kinds.
type flowKeys struct {
	Version      string      `key:"version" doc:"the flow's version"`
	SystemPrompt string      `key:"system_prompt" doc:"the model's instructions everywhere"`
	APIs         source.Node `key:"apis" schema:"apis" doc:"APIs for actions, by name"`
	Tools        source.Node `key:"tools" schema:"tools" doc:"tools for the model, by name"`
}

// common reads what flows of both kinds have.
func (r *reader) common(keys flowKeys) {
	f := r.flow
	f.Version, f.SystemPrompt = keys.Version, keys.SystemPrompt
	f.apis, f.tools = remotes(keys.APIs, false), remotes(keys.Tools, true)
}

// nodeFlowKeys are the keys of a node flow.
type nodeFlowKeys struct {
	flowKeys
	ID      string      `key:"id" doc:"the flow's name"`
	Start   source.Node `key:"start" schema:"text" doc:"the start node (default: the only one)"`
	Nodes   source.Node `key:"nodes" schema:"nodes" doc:"the nodes"`
	Globals source.Node `key:"globals" schema:"globals" doc:"options of every conversation node"`
}

// nodeFlow reads a flow whose options a model chooses.
func (r *reader) nodeFlow(n source.Node) {
	var keys nodeFlowKeys
	decode(n, &keys)
	r.flow.ID = keys.ID
	r.common(keys.flowKeys)
	for _, item := range keys.Nodes.List() {
		r.node(item)
	}
	r.globals(keys.Globals)
	if r.flow.ID == "" {
		n.Field("id").Report("add `id:` with the flow's name", "a flow needs an id")
	}
	r.connect()
	r.findStart(n, keys.Start)
	r.connectGlobals()
	r.connectTools(r.listed)
	r.checkNodeFlow()
}

// nodeKeys are the keys of a node.
type nodeKeys struct {
	*Node
	Flow    string      `key:"flow" doc:"of a call: the flow of the same folder that it calls"`
	Next    source.Node `key:"next" schema:"next" doc:"of a start: the first nodes; of a call: the node after it"`
	Options source.Node `key:"options" schema:"options" doc:"of a conversation: the ways out"`
	NoMatch source.Node `key:"no_match" schema:"no_match" doc:"the way out after too many turns at the node"`
	Tools   source.Node `key:"tools" schema:"tool_names" doc:"tools that the model may call at the node"`
	Globals *bool       `key:"globals" doc:"false hides the global options at the node"`
}

func (r *reader) node(n source.Node) {
	node := &Node{}
	keys := nodeKeys{Node: node}
	decode(n, &keys)
	if n.Kind != source.Map {
		return
	}
	if n.Has("id") && !nodeID().MatchString(node.ID) {
		n.Field("id").Report("use lower-case letters, digits and _", "node id %q is not a valid name", node.ID)
	}
	node.calls, node.alone = keys.Flow, keys.Globals != nil && !*keys.Globals
	switch next := keys.Next; {
	case next.Kind == source.Null:
	case n.Field("type").Scalar == string(Call):
		target := targetOf(next, fmt.Sprintf("call node %q", node.ID))
		node.Options = []*Option{{ID: "next", target: target, at: standing(next)}}
	default:
		for _, item := range next.List() {
			target := item.Text()
			node.Options = append(node.Options, &Option{ID: target, Label: target, target: target, at: standing(item)})
		}
	}
	for _, item := range keys.Options.List() {
		node.Options = append(node.Options, readOption(item, node.ID, false))
	}
	if n.Has("no_match") {
		node.NoMatch = noMatch(keys.NoMatch, node.ID)
	}
	if n.Has("tools") {
		r.listed[node] = keys.Tools
	}
	if !n.Has("id") {
		n.Report("add `id:` in lower case", "a node needs an id")
	}
	r.checkNode(n, node)
	r.add(n, node)
}

// optionKeys are the keys of an option.
type optionKeys struct {
	*Option
	Next source.Node `key:"next" schema:"target" doc:"a node; null or @return where the flow ends; @start"`
	If   source.Node `key:"if" schema:"fact_condition" doc:"the facts with which the option is offered"`
}

// readOption reads an option of a node, or a global one.
func readOption(n source.Node, node string, global bool) *Option {
	o := &Option{at: standing(n)}
	of := fmt.Sprintf("node %q", node)
	if global {
		of = "globals"
	}
	keys := optionKeys{Option: o}
	decode(n, &keys)
	switch id := n.Field("id"); {
	case o.ID == Stay:
		id.Report("choose another id; \"-1\" always means that no option fits yet",
			"%s: the option id \"-1\" is reserved", of)
	case o.ID == "" && n.Has("id"):
		id.Report("write a short name", "%s: the option id is empty", of)
	}
	if o.target = targetOf(keys.Next, of+": an option"); o.target == toStart && !global {
		keys.Next.Report("write the id of a node", "%s, option %q: only global options lead to %s", of, o.ID, toStart)
		o.target = ""
	}
	if n.Has("if") {
		o.If = condition(keys.If, 0, true)
	}
	if n.Kind == source.Map {
		for _, name := range []string{"id", "label", "next"} {
			if _, given := n.Get(name); !given || name != "next" && !n.Has(name) {
				n.Report("write {id: …, label: …, next: NODE or null}", "%s, option %q needs %q", of, o.ID, name)
			}
		}
	}
	return o
}

// checkNode reports what the type of a node does not allow.
func (r *reader) checkNode(n source.Node, node *Node) {
	switch node.Type {
	case "":
		if !n.Has("type") {
			n.Report("add `type: start`, conversation, call or stop", "node %q has no type", node.ID)
		}
	case Start:
		if n.Has("options") && len(n.Field("options").Items) > 0 {
			n.Field("options").Report("list the next nodes in `next:`", "start node %q has options", node.ID)
		}
		if len(node.Options) == 0 {
			n.Report("add `next:` with at least one node", "start node %q leads nowhere", node.ID)
		}
	case Conversation:
		if n.Has("next") {
			n.Field("next").Report("put next into the options", "conversation node %q has a next of its own", node.ID)
		}
		if len(node.Options) == 0 {
			n.Report("add `options:`, or make it a stop",
				"conversation node %q is a dead end: it has no options", node.ID)
		}
	case Call:
		checkCall(n, node)
	case Stop:
		for _, name := range []string{"options", "next"} {
			if n.Has(name) && len(n.Field(name).Items) > 0 {
				n.Field(name).Report("remove it: the flow ends here", "stop node %q has %s", node.ID, name)
			}
		}
	}
	if node.Type != Call && n.Has("flow") {
		n.Field("flow").Report("make it `type: call`, or remove the flow",
			"node %q is no call, and names a flow", node.ID)
	}
	if node.Type != Conversation && node.Type != Call {
		for _, name := range []string{"no_match", "globals", "tools"} {
			if n.Has(name) {
				n.Field(name).Report("put it into a conversation node", "%s node %q has %s", node.Type, node.ID, name)
			}
		}
	}
	r.twice(node.Options, "node %q has two options %q", node.ID)
}
