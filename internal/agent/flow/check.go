package flow

import (
	"fmt"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// connect resolves the targets of all options.
func (r *reader) connect() {
	for _, node := range r.flow.Nodes {
		for _, o := range node.Options {
			r.connectOption(node, o)
		}
		if m := node.NoMatch; m != nil {
			r.connectOption(node, m.option)
			m.Next = m.option.Next
		}
	}
}

// connectOption resolves the target of an option of a node, or of a global one.
func (r *reader) connectOption(node *Node, o *Option) {
	if o.target == "" {
		return
	}
	next, ok := r.flow.byID[o.target]
	if !ok {
		r.report(o.at, source.Suggest(o.target, r.ids()), "%s leads to %q, which does not exist",
			optionPath(node, o), o.target)
		return
	}
	o.Next = next
}

// optionPath names a node and its option in a message.
func optionPath(n *Node, o *Option) string {
	switch {
	case n == nil:
		return fmt.Sprintf("global option %q", o.ID)
	case n.Type == Start, n.Type == Call:
		return fmt.Sprintf("node %q", n.ID)
	case o.ID == Stay:
		return fmt.Sprintf("node %q, no_match", n.ID)
	}
	return fmt.Sprintf("node %q, option %q", n.ID, o.ID)
}

func (r *reader) ids() []string {
	ids := make([]string, 0, len(r.flow.Nodes))
	for _, n := range r.flow.Nodes {
		ids = append(ids, n.ID)
	}
	return ids
}

// findStart finds the one start node.
func (r *reader) findStart(n, named source.Node) {
	var starts []*Node
	for _, node := range r.flow.Nodes {
		if node.Type == Start {
			starts = append(starts, node)
		}
	}
	switch {
	case len(starts) == 0:
		n.Report("give the first node `type: start`", "the flow has no start node")
		return
	case len(starts) > 1:
		r.report(starts[1].at, "keep one; make the others conversation nodes",
			"nodes %q and %q are both start nodes", starts[0].ID, starts[1].ID)
	}
	r.flow.Start = starts[0]
	if named.Kind == source.Null {
		return
	}
	if id := named.Text(); id != "" && id != starts[0].ID {
		named.Report(fmt.Sprintf("write `start: %s`", starts[0].ID), "start names %q, but the start node is %q", id,
			starts[0].ID)
	}
}

// checkNodeFlow reports faults that keep a conversation from reaching an end.
func (r *reader) checkNodeFlow() {
	if r.flow.Start == nil || r.Problems.Err() != nil {
		return
	}
	reached := r.flow.reachable()
	ending := r.flow.ending()
	r.backToStart(nil, r.flow.Globals)
	for _, node := range r.flow.Nodes {
		r.backToStart(node, node.ways())
		switch {
		case !reached[node]:
			r.report(node.at, "add an option that leads here, or remove the node",
				"node %q cannot be reached from the start", node.ID)
		case !ending[node]:
			r.report(node.at, "add an option that leads to a stop, or one with `next: null`",
				"node %q is a dead end: no way leads from it to an end", node.ID)
		}
	}
}

// backToStart reports options that lead to the start node.
func (r *reader) backToStart(node *Node, options []*Option) {
	for _, o := range options {
		if o.Next == r.flow.Start {
			r.report(o.at, "lead to the node after the start", "%s leads back to the start node %q",
				optionPath(node, o), r.flow.Start.ID)
		}
	}
}

// ways are the options of a node and its no_match, without the global options.
func (n *Node) ways() []*Option {
	if n.NoMatch == nil {
		return n.Options
	}
	return append(slices.Clip(n.Options), n.NoMatch.option)
}

// reachable returns the nodes that a conversation can reach.
func (f *Flow) reachable() map[*Node]bool {
	reached := map[*Node]bool{f.Start: true}
	queue := []*Node{f.Start}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		for _, next := range n.successors() {
			if !reached[next] {
				reached[next] = true
				queue = append(queue, next)
			}
		}
	}
	return reached
}

// ending returns the nodes from which a conversation can reach an end.
func (f *Flow) ending() map[*Node]bool {
	before := map[*Node][]*Node{}
	ending := map[*Node]bool{}
	var queue []*Node
	for _, n := range f.Nodes {
		ends := n.Ends()
		for _, o := range slices.Concat(n.ways(), n.Globals) {
			ends = ends || o.Next == nil
		}
		for _, next := range n.successors() {
			before[next] = append(before[next], n)
		}
		if ends {
			ending[n] = true
			queue = append(queue, n)
		}
	}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		for _, previous := range before[n] {
			if !ending[previous] {
				ending[previous] = true
				queue = append(queue, previous)
			}
		}
	}
	return ending
}

// successors are the nodes that a turn at n may lead to, redirects included.
func (n *Node) successors() []*Node {
	var next []*Node
	for _, o := range slices.Concat(n.ways(), n.Globals) {
		if o.Next != nil {
			next = append(next, o.Next)
		}
		next = append(next, redirects(o.Actions)...)
	}
	if n.State != nil {
		next = append(next, redirects(n.State.Actions)...)
	}
	return next
}

func redirects(actions []Action) []*Node {
	var next []*Node
	for _, a := range actions {
		if a.Type == Redirect && a.node != nil {
			next = append(next, a.node)
		}
	}
	return next
}

// connectRedirects resolves the states that redirect actions name.
func (r *reader) connectRedirects() {
	resolve := func(owner *Node, actions []Action) {
		for i, a := range actions {
			if a.Type != Redirect {
				continue
			}
			next, ok := r.flow.byID[a.Target]
			if !ok {
				r.report(owner.at, source.Suggest(a.Target, r.ids()),
					"state %q redirects to %q, which does not exist", owner.ID, a.Target)
				continue
			}
			actions[i].node = next
		}
	}
	for _, node := range r.flow.Nodes {
		resolve(node, node.State.Actions)
		for _, o := range node.Options {
			resolve(node, o.Actions)
		}
	}
}

// checkMachine warns of states that no conversation reaches and of states that no conversation leaves.
func (r *reader) checkMachine() {
	if r.flow.Start == nil || r.Problems.Err() != nil {
		return
	}
	reached, ending := r.flow.reachable(), r.flow.ending()
	for _, node := range r.flow.Nodes {
		if redirectedBack(node) {
			r.warnOf(node.at, "let one of them redirect elsewhere",
				"state %q redirects in a circle, back to itself", node.ID)
		}
		switch {
		case !reached[node]:
			r.warnOf(node.at, "add a transition that leads here", "state %q cannot be reached from %q", node.ID,
				r.flow.Start.ID)
		case !ending[node]:
			r.warnOf(node.at, "add a transition that leads to an end", "no way leads from state %q to an end", node.ID)
		}
	}
}

// redirectedBack reports whether the redirects of states lead from one back to it.
func redirectedBack(n *Node) bool {
	seen := map[*Node]bool{}
	for at := n; !seen[at]; {
		seen[at] = true
		next := redirected(at)
		if len(next) == 0 {
			return false
		}
		if at = next[len(next)-1]; at == n { // the last one holds
			return true
		}
	}
	return false
}
