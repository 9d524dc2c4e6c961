package flow

import "slices"

// WithSystemPrompt returns a copy of the flow with another system prompt. The flow itself is not changed.
func (f *Flow) WithSystemPrompt(text string) *Flow {
	changed := *f
	changed.SystemPrompt = text
	changed.Nodes = make([]*Node, len(f.Nodes))
	changed.byID = make(map[string]*Node, len(f.Nodes))
	for i, n := range f.Nodes {
		node := *n
		changed.Nodes[i] = &node
		changed.byID[n.ID] = &node
	}
	// A copy must lead to copies, or the second turn would use the old prompt.
	changed.Globals = changed.copyOptions(f.Globals)
	for _, n := range changed.Nodes {
		n.Options = changed.copyOptions(n.Options)
		n.Globals = changed.globalsLike(f, n.Globals)
		if n.NoMatch != nil {
			own := *n.NoMatch
			own.option = changed.copyOptions([]*Option{own.option})[0]
			own.Next = own.option.Next
			n.NoMatch = &own
		}
		if n.State != nil {
			state := *n.State
			state.Actions = changed.copyActions(state.Actions)
			n.State = &state
		}
	}
	changed.Start = changed.byID[f.Start.ID]
	changed.finish()
	return &changed
}

func (f *Flow) copyOptions(options []*Option) []*Option {
	copies := make([]*Option, len(options))
	for i, o := range options {
		option := *o
		if o.Next != nil {
			option.Next = f.byID[o.Next.ID]
		}
		option.Actions = f.copyActions(o.Actions)
		copies[i] = &option
	}
	return copies
}

// globalsLike returns those of the flow's global options that stand where the given ones stand in the flow that it is a
// copy of.
func (f *Flow) globalsLike(of *Flow, given []*Option) []*Option {
	copies := make([]*Option, 0, len(given))
	for i, o := range of.Globals {
		if slices.Contains(given, o) {
			copies = append(copies, f.Globals[i])
		}
	}
	return copies
}

func (f *Flow) copyActions(actions []Action) []Action {
	copies := make([]Action, len(actions))
	for i, a := range actions {
		if a.node != nil {
			a.node = f.byID[a.node.ID]
		}
		copies[i] = a
	}
	return copies
}
