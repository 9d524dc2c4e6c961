package flow

import (
	"encoding/json"
	"errors"
)

// errCalls is why a flow with calls has no definition of its own.
var errCalls = errors.New("the flow calls other flows, which a server must know itself")

// The forms of a flow in JSON, as an execution context carries it inline.
type (
	writtenFlow struct {
		ID           string                 `json:"id"`
		Version      int                    `json:"version,omitempty"`
		Start        string                 `json:"start"`
		SystemPrompt string                 `json:"system_prompt,omitempty"`
		Nodes        []writtenNode          `json:"nodes"`
		Globals      []writtenOption        `json:"globals,omitempty"`
		Tools        map[string]writtenTool `json:"tools,omitempty"`
	}
	writtenTool struct {
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
		URL         string          `json:"url"`
	}
	writtenNode struct {
		ID      string          `json:"id"`
		Type    Type            `json:"type"`
		Prompt  string          `json:"prompt,omitempty"`
		Next    []string        `json:"next,omitempty"`
		Options []writtenOption `json:"options,omitempty"`
		NoMatch *writtenMatch   `json:"no_match,omitempty"`
		Globals *bool           `json:"globals,omitempty"`
		Tools   []string        `json:"tools,omitempty"`
	}
	writtenOption struct {
		ID       string            `json:"id"`
		Label    string            `json:"label"`
		When     string            `json:"when,omitempty"`
		Examples []string          `json:"examples,omitempty"`
		If       *writtenCondition `json:"if,omitempty"`
		Next     *string           `json:"next"`
	}
	writtenMatch struct {
		Max    int     `json:"max"`
		Next   *string `json:"next"`
		Prompt string  `json:"prompt,omitempty"`
	}
	writtenCondition struct {
		Type          ConditionType       `json:"type"`
		Field         string              `json:"field,omitempty"`
		Operator      Operator            `json:"operator,omitempty"`
		Values        []string            `json:"values,omitempty"`
		CaseSensitive bool                `json:"case_sensitive,omitempty"`
		Of            []*writtenCondition `json:"conditions,omitempty"`
	}
)

// Definition returns a node flow as JSON, as an execution context carries it inline. A flow that calls others has none.
func (f *Flow) Definition() (json.RawMessage, error) {
	if len(f.calls) > 0 {
		return nil, errCalls
	}
	definition := writtenFlow{ID: f.ID, Version: major(f.Version), Start: f.Start.ID, SystemPrompt: f.SystemPrompt}
	for _, n := range f.Nodes {
		written := writtenNode{ID: n.ID, Type: n.Type, Prompt: n.Prompt}
		for _, o := range n.Options {
			if n.Type == Start {
				written.Next = append(written.Next, o.target)
			} else {
				written.Options = append(written.Options, o.written())
			}
		}
		if n.NoMatch != nil {
			written.NoMatch = &writtenMatch{n.NoMatch.Max, orNull(n.NoMatch.target), n.NoMatch.Prompt}
		}
		if n.alone {
			written.Globals = new(false)
		}
		for _, tool := range n.tools {
			written.Tools = append(written.Tools, tool.Name)
		}
		definition.Nodes = append(definition.Nodes, written)
	}
	for _, o := range f.Globals {
		definition.Globals = append(definition.Globals, o.written())
	}
	for name, tool := range f.tools { // what the model needs to know of them: a server answers their calls from stubs
		if definition.Tools == nil {
			definition.Tools = map[string]writtenTool{}
		}
		definition.Tools[name] = writtenTool{tool.Description, tool.Parameters, tool.URL}
	}
	return json.Marshal(definition)
}

func (o *Option) written() writtenOption {
	return writtenOption{
		ID: o.ID, Label: o.Label, When: o.When, Examples: o.Examples, If: o.If.written(), Next: orNull(o.target),
	}
}

func (c *Condition) written() *writtenCondition {
	if c == nil {
		return nil
	}
	w := &writtenCondition{
		Type: c.Type, Field: c.Field, Operator: c.Operator, Values: c.Values, CaseSensitive: c.CaseSensitive,
	}
	for _, of := range c.Of {
		w.Of = append(w.Of, of.written())
	}
	return w
}

// orNull returns a target, or nil where the flow ends.
func orNull(target string) *string {
	if target == "" {
		return nil
	}
	return &target
}
