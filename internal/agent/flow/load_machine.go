package flow

import (
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// machineKeys are the keys of a state machine.
type machineKeys struct {
	flowKeys
	ID          string      `key:"id" alias:"name" doc:"the flow's name"`
	Description string      `key:"description" doc:"what the flow is for"`
	Initial     source.Node `key:"initial_state" schema:"name" doc:"the first state"`
	States      source.Node `key:"states" schema:"states" doc:"states by name"`
	Transitions source.Node `key:"transitions" schema:"transitions" doc:"the ways from state to state"`
}

// machine reads a state machine.
// Corpora are read as they are: an inconsistency that does not keep the machine from running is a warning.
func (r *reader) machine(n source.Node) {
	var keys machineKeys
	decode(n, &keys)
	r.flow.Machine, r.flow.ID, r.flow.Description = true, keys.ID, keys.Description
	r.common(keys.flowKeys)
	for name, state := range keys.States.Entries() {
		r.state(name, state)
	}
	if r.flow.ID == "" {
		n.Report("add `name:` with the flow's name", "a flow needs a name")
	}
	if len(r.flow.Nodes) == 0 {
		n.Report("add `states:` with at least one state", "the flow has no states")
		return
	}
	r.initial(n, keys.Initial)
	for _, item := range keys.Transitions.List() {
		r.transition(item)
	}
	r.connect()
	r.connectRedirects()
	r.connectTools(r.listed)
	r.checkAPIs()
	r.checkMachine()
}

func (r *reader) initial(n, initial source.Node) {
	if initial.Kind == source.Null {
		n.Report("add `initial_state:` with the name of a state", "the flow does not say where it starts")
		return
	}
	name := initial.Text()
	start, ok := r.flow.byID[name]
	if !ok {
		initial.Report(source.Suggest(name, r.ids()), "the initial state %q does not exist", name)
		return
	}
	if start.Ends() {
		initial.Report("start with a state that asks something", "the initial state %q is an end", name)
	}
	r.flow.Start = start
}

// stateKeys are the keys of a state.
type stateKeys struct {
	*State
	Message  *stateMessage `key:"message" doc:"the reply in the state"`
	Metadata source.Node   `key:"metadata" schema:"metadata"`
	Tools    source.Node   `key:"tools" schema:"tool_names" doc:"tools that the model may call in the state"`
}

func (r *reader) state(name string, n source.Node) {
	s := &State{Progress: -1}
	node := &Node{ID: name, Type: Conversation, State: s}
	keys := stateKeys{State: s}
	decode(n, &keys)
	s.Field = NormalKey(s.Field)
	if m := keys.Message; m != nil {
		node.Prompt, s.Buttons = m.Text, m.Buttons
		for _, b := range m.QuickReplies {
			s.QuickReplies = append(s.QuickReplies, b.Label)
		}
	}
	if n.Has("metadata") {
		stateMetadata(keys.Metadata, s)
	}
	if n.Has("tools") {
		r.listed[node] = keys.Tools
	}
	if n.Kind == source.Map && !n.Has("type") {
		n.Report("add `type:` question, confirmation, data_collection, ai_response or end",
			"state %q has no type", name)
	}
	if strings.TrimSpace(name) == "" || len(name) > maxName {
		n.Report(fmt.Sprintf("use 1 to %d characters", maxName), "%q is not a valid name for a state", clip(name, 40))
	}
	if s.Type == End {
		node.Type = Stop
	}
	setAnswer(node)
	r.add(n, node)
}

// maxName bounds the name of a state.
const maxName = 200

// setAnswer sets the field of a state that collects data: the named one, that of a set_field without a value, or the
// state's own name.
func setAnswer(n *Node) {
	s := n.State
	var entering []Action
	for _, a := range s.Actions {
		if a.Type == SetField && a.Value == "" {
			if s.Field == "" {
				s.Field = a.Target
			}
			continue
		}
		entering = append(entering, a)
	}
	s.Actions = entering
	if s.Field == "" && s.Type == DataCollection {
		s.Field = NormalKey(n.ID)
	}
}

// stateMessage is the message of a state.
type stateMessage struct {
	Text         string   `key:"text" doc:"the text; {field} stands for what a field has"`
	QuickReplies []Button `key:"quick_replies" schema:"button_list" doc:"answers that the user can send with a click"`
	Buttons      []Button `key:"buttons" schema:"button_list" doc:"what the user can choose"`
}

// DecodeNode reads a text, or {text, quick_replies, buttons}.
func (m *stateMessage) DecodeNode(n source.Node) {
	if n.Kind != source.Map {
		m.Text = n.Text()
		return
	}
	decode(n, m)
}

// DecodeNode reads a label, or {label, value}.
func (b *Button) DecodeNode(n source.Node) {
	if n.Kind != source.Map {
		b.Label = plain(n)
		return
	}
	decode(n, b)
}

// stateMetadata reads the part of a state's metadata that the engine uses.
func stateMetadata(n source.Node, s *State) {
	if n.Kind != source.Map {
		source.Decode(n, &struct{}{}) // reports what it got instead
		return
	}
	if progress, ok := n.Get("progress"); ok {
		if p, ok := progress.Float(); ok {
			s.Progress = p
		}
	}
	if n.Has("skip_conditions") {
		for _, item := range n.Field("skip_conditions").List() {
			s.Skip = append(s.Skip, condition(item, 0, false))
		}
	}
}

// transitionKeys are the keys of a transition.
type transitionKeys struct {
	*Option
	From     source.Node `key:"from" schema:"name" doc:"the state that it leaves"`
	To       source.Node `key:"to" schema:"name" doc:"the state that it leads to"`
	Rule     source.Node `key:"condition" schema:"rule" doc:"when it is taken; without one the model chooses"`
	Actions  []Action    `key:"actions" doc:"actions of the transition"`
	Priority float64     `key:"priority" minimum:"-1e6" maximum:"1e6" doc:"the highest of those that fit is taken"`
}

func (r *reader) transition(n source.Node) {
	o := &Option{at: standing(n)}
	keys := transitionKeys{Option: o}
	decode(n, &keys)
	o.Rule, o.Actions, o.Priority = rule(keys.Rule), keys.Actions, int(keys.Priority)
	from, to := keys.From, keys.To
	if n.Kind != source.Map {
		return
	}
	if from.Kind == source.Null || to.Kind == source.Null {
		n.Report("write {from: STATE, to: STATE, condition: {type: always}}", "a transition needs both from and to")
		return
	}
	name := from.Text()
	node, ok := r.flow.byID[name]
	switch {
	case !ok:
		from.Report(source.Suggest(name, r.ids()), "the transition starts at %q, which does not exist", name)
		return
	case node.Ends():
		from.Report("remove the transition, or give the state another type",
			"the transition starts at %q, which is an end", name)
		return
	}
	if o.target = to.Text(); o.target == "" {
		to.Report("write the name of a state", "the transition from %q leads nowhere", name)
	}
	o.ID = freeID(node, o)
	if o.Label == "" {
		o.Label = o.target
	}
	node.Options = append(node.Options, o)
}

// freeID returns the ID of a transition: the author's, or its target's, with a number if several lead to the same
// target.
func freeID(n *Node, o *Option) string {
	wanted := o.ID
	if wanted == "" || wanted == Stay {
		wanted = o.target
	}
	taken := map[string]bool{}
	for _, other := range n.Options {
		taken[other.ID] = true
	}
	id := wanted
	for i := 2; taken[id]; i++ {
		id = fmt.Sprintf("%s_%d", wanted, i)
	}
	return id
}
