package flow

import (
	"fmt"
	"regexp"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

var nodeID = regexp.MustCompile(`^[a-z0-9_]+$`)

// nodeFlow reads a flow whose options a model chooses.
func (r *reader) nodeFlow(n source.Node) {
	var start source.Node
	r.fields(n, map[string]func(source.Node){
		"id":            func(n source.Node) { r.flow.ID = n.Text() },
		"version":       func(n source.Node) { r.flow.Version = plain(n) },
		"start":         func(n source.Node) { start = n },
		"system_prompt": func(n source.Node) { r.flow.SystemPrompt = n.Text() },
		"nodes": func(n source.Node) {
			for _, item := range n.List() {
				r.node(item)
			}
		},
		"globals": r.globals,
		"apis":    func(n source.Node) { r.flow.apis = r.remotes(n, false) },
		"tools":   func(n source.Node) { r.flow.tools = r.remotes(n, true) },
	})
	if r.flow.ID == "" {
		n.Field("id").Report("add `id:` with the flow's name", "a flow needs an id")
	}
	r.connect()
	r.findStart(n, start)
	r.connectGlobals()
	r.connectTools(r.listed)
	r.checkNodeFlow()
}

func (r *reader) node(n source.Node) {
	node := &Node{}
	known := map[string]func(source.Node){
		"id": func(n source.Node) { node.ID = r.id(n, "node") },
		"type": func(n source.Node) {
			node.Type = Type(n.OneOf(string(Start), string(Conversation), string(Call), string(Stop)))
		},
		"prompt": func(n source.Node) { node.Prompt = optionalText(n) },
		"flow":   func(n source.Node) { node.calls = n.Text() },
		"next": func(next source.Node) {
			if n.Field("type").Scalar == string(Call) {
				what := fmt.Sprintf("call node %q", n.Field("id").Scalar)
				node.Options = []*Option{{ID: "next", target: r.targetOf(next, what), at: standing(next)}}
				return
			}
			for _, item := range next.List() {
				target := item.Text()
				node.Options = append(node.Options, &Option{
					ID: target, Label: target, target: target, at: standing(item),
				})
			}
		},
		"options": func(options source.Node) {
			for _, item := range options.List() {
				node.Options = append(node.Options, r.option(item, n.Field("id").Scalar, false))
			}
		},
		"no_match": func(match source.Node) { node.NoMatch = r.noMatch(match, n.Field("id").Scalar) },
		"tools":    func(n source.Node) { r.listed[node] = n },
		"globals":  func(n source.Node) { node.alone = n.Kind != source.Null && !n.Bool() },
	}
	r.fields(n, known)
	if n.Kind != source.Map {
		return
	}
	if !n.Has("id") {
		n.Report("add `id:` in lower case", "a node needs an id")
	}
	r.checkNode(n, node)
	r.add(n, node)
}

func optionalText(n source.Node) string {
	if n.Kind == source.Null {
		return ""
	}
	return n.Text()
}

// id reads the name of a node or option.
func (r *reader) id(n source.Node, what string) string {
	id := n.Text()
	if !nodeID.MatchString(id) {
		n.Report("use lower-case letters, digits and _", "%s id %q is not a valid name", what, id)
	}
	return id
}

// option reads an option of a node, or a global one.
func (r *reader) option(n source.Node, node string, global bool) *Option {
	o := &Option{at: standing(n)}
	of := fmt.Sprintf("node %q", node)
	if global {
		of = "globals"
	}
	r.fields(n, map[string]func(source.Node){
		"id": func(n source.Node) {
			o.ID = plain(n)
			switch {
			case o.ID == Stay:
				n.Report("choose another id; \"-1\" always means that no option fits yet", "%s: the option id \"-1\" is reserved", of)
			case o.ID == "":
				n.Report("write a short name", "%s: the option id is empty", of)
			}
		},
		"label":    func(n source.Node) { o.Label = n.Text() },
		"when":     func(n source.Node) { o.When = optionalText(n) },
		"examples": func(n source.Node) { o.Examples = optionalTexts(n) },
		"next": func(n source.Node) {
			if o.target = r.targetOf(n, of+": an option"); o.target == toStart && !global {
				n.Report("write the id of a node", "%s, option %q: only global options lead to %s", of, o.ID, toStart)
				o.target = ""
			}
		},
		"if": func(n source.Node) { o.If = r.offeredIf(n) },
	})
	if n.Kind == source.Map {
		for _, name := range []string{"id", "label", "next"} {
			if _, given := n.Get(name); !given {
				n.Report("write {id: …, label: …, next: NODE or null}", "%s, option %q needs %q", of, o.ID, name)
			}
		}
	}
	return o
}

func optionalTexts(n source.Node) []string {
	if n.Kind == source.Null {
		return nil
	}
	return n.Texts()
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
			n.Report("add `options:`, or make it a stop", "conversation node %q is a dead end: it has no options", node.ID)
		}
	case Call:
		r.call(n, node)
	case Stop:
		for _, name := range []string{"options", "next"} {
			if n.Has(name) && len(n.Field(name).Items) > 0 {
				n.Field(name).Report("remove it: the flow ends here", "stop node %q has %s", node.ID, name)
			}
		}
	}
	if node.Type != Call && n.Has("flow") {
		n.Field("flow").Report("make it `type: call`, or remove the flow", "node %q is no call, and names a flow", node.ID)
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
