package api

import (
	"net/http"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
)

// flowSummary is a flow in a list.
type flowSummary struct {
	ID      string `json:"id"`
	Version string `json:"version"`
	// Kind is node_flow or state_machine.
	Kind        string `json:"kind"`
	Description string `json:"description,omitempty"`
	Nodes       int    `json:"nodes"`
	Warnings    int    `json:"warnings"`
}

func summarise(f *flow.Flow) flowSummary {
	kind := "node_flow"
	if f.Machine {
		kind = "state_machine"
	}
	return flowSummary{f.ID, f.Version, kind, f.Description, len(f.Nodes), len(f.Warnings)}
}

// flowsView is a list of flows.
type flowsView struct {
	Flows []flowSummary `json:"flows"`
}

// listFlows is GET /api/v1/flows.
func (s *Flows) listFlows(w http.ResponseWriter, _ *http.Request) {
	list := []flowSummary{}
	if s.Library != nil {
		for _, f := range s.Library.Flows() {
			list = append(list, summarise(f))
		}
	}
	writeBody(w, http.StatusOK, "application/json", flowsView{list})
}

// flowView is a flow with its nodes.
type flowView struct {
	flowSummary
	Start        string     `json:"start"`
	SystemPrompt string     `json:"system_prompt,omitempty"`
	Nodes        []nodeView `json:"nodes"`
	// Globals are the options that nodes offer besides their own.
	Globals  []optionView `json:"globals,omitempty"`
	Warnings []string     `json:"warnings"`
}

type nodeView struct {
	ID   string    `json:"id"`
	Type flow.Type `json:"type"`
	// StateType is the node's type in a state machine.
	StateType flow.StateType `json:"state_type,omitempty"`
	// Field is what the node collects in a state machine.
	Field        string        `json:"field,omitempty"`
	Prompt       string        `json:"prompt,omitempty"`
	Options      []optionView  `json:"options"`
	NoMatch      *noMatchView  `json:"no_match,omitempty"`
	QuickReplies []string      `json:"quick_replies,omitempty"`
	Buttons      []flow.Button `json:"buttons,omitempty"`
}

type optionView struct {
	ID       string   `json:"id"`
	Label    string   `json:"label"`
	When     string   `json:"when,omitempty"`
	Examples []string `json:"examples,omitempty"`
	// Next is null when the flow ends. Rule is true when a rule decides, not a model. If is true when the option is
	// offered with certain facts only.
	Next *string `json:"next"`
	Rule bool    `json:"rule,omitempty"`
	If   bool    `json:"if,omitempty"`
}

// noMatchView is where a conversation goes that has stayed at a node too often.
type noMatchView struct {
	Max  int     `json:"max"`
	Next *string `json:"next"`
}

// showFlow is GET /api/v1/flows/{flow_id}.
func (s *Flows) showFlow(w http.ResponseWriter, r *http.Request) {
	f, err := s.Library.Find(r.PathValue("flow_id"))
	if err != nil {
		p := problemOf(err)
		p.Pointer = nil // the request has no body
		writeProblem(w, p)
		return
	}
	v := flowView{flowSummary: summarise(f), Start: f.Start.ID, SystemPrompt: f.SystemPrompt, Warnings: []string{}}
	for _, n := range f.Nodes {
		v.Nodes = append(v.Nodes, viewNode(n))
	}
	for _, o := range f.Globals {
		v.Globals = append(v.Globals, viewOption(o))
	}
	for _, warning := range f.Warnings {
		v.Warnings = append(v.Warnings, warning.String())
	}
	writeBody(w, http.StatusOK, "application/json", v)
}

func viewNode(n *flow.Node) nodeView {
	v := nodeView{ID: n.ID, Type: n.Type, Prompt: n.Prompt, Options: []optionView{}}
	if n.State != nil {
		v.StateType, v.Field, v.QuickReplies, v.Buttons = n.State.Type, n.State.Field,
			n.State.QuickReplies, n.State.Buttons
	}
	for _, o := range n.Options {
		v.Options = append(v.Options, viewOption(o))
	}
	if m := n.NoMatch; m != nil {
		v.NoMatch = &noMatchView{m.Max, orNull(m.Target())}
	}
	return v
}

func viewOption(o *flow.Option) optionView {
	return optionView{
		ID: o.ID, Label: o.Label, When: o.When, Examples: o.Examples, Next: orNull(o.Target()), Rule: o.Rule != nil,
		If: o.If != nil,
	}
}

// orNull returns the id of a node, or nil where the flow ends.
func orNull(target string) *string {
	if target == "" {
		return nil
	}
	return &target
}
