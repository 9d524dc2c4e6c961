package flow

import "encoding/json"

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
