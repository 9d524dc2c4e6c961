package flow

import (
	"encoding/json"
)

// Definition returns a node flow as JSON, as an execution context carries it inline.
func (f *Flow) Definition() (json.RawMessage, error) {
	type option struct {
		ID       string   `json:"id"`
		Label    string   `json:"label"`
		When     string   `json:"when,omitempty"`
		Examples []string `json:"examples,omitempty"`
		Next     *string  `json:"next"`
	}
	type node struct {
		ID      string   `json:"id"`
		Type    Type     `json:"type"`
		Prompt  string   `json:"prompt,omitempty"`
		Next    []string `json:"next,omitempty"`
		Options []option `json:"options,omitempty"`
	}
	definition := struct {
		ID           string `json:"id"`
		Version      int    `json:"version,omitempty"`
		Start        string `json:"start"`
		SystemPrompt string `json:"system_prompt,omitempty"`
		Nodes        []node `json:"nodes"`
	}{f.ID, major(f.Version), f.Start.ID, f.SystemPrompt, nil}
	for _, n := range f.Nodes {
		written := node{ID: n.ID, Type: n.Type, Prompt: n.Prompt}
		for _, o := range n.Options {
			if n.Type == Start {
				written.Next = append(written.Next, o.target)
				continue
			}
			next := option{ID: o.ID, Label: o.Label, When: o.When, Examples: o.Examples}
			if o.target != "" {
				next.Next = &o.target
			}
			written.Options = append(written.Options, next)
		}
		definition.Nodes = append(definition.Nodes, written)
	}
	return json.Marshal(definition)
}

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
	for _, n := range changed.Nodes {
		n.Options = changed.copyOptions(n.Options)
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
