package flow

import "rehearse/internal/source"

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
	if r.flow.Start == nil || len(r.Problems) > 0 {
		return
	}
	reached, ending := r.flow.reachable(), r.flow.ending()
	for _, node := range r.flow.Nodes {
		switch {
		case !reached[node]:
			r.warnOf(node.at, "add a transition that leads here", "state %q cannot be reached from %q", node.ID, r.flow.Start.ID)
		case !ending[node]:
			r.warnOf(node.at, "add a transition that leads to an end", "no way leads from state %q to an end", node.ID)
		}
	}
}
