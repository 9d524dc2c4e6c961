package flow

import (
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// machine reads a state machine (replay.md section 2).
// Corpora are read as they are: an inconsistency that does not keep the machine from running is a warning.
func (r *reader) machine(n source.Node) {
	var initial, transitions source.Node
	r.flow.Machine = true
	r.fields(n, map[string]func(source.Node){
		"id":            func(n source.Node) { r.flow.ID = n.Text() },
		"name":          func(n source.Node) { r.flow.ID = n.Text() },
		"version":       func(n source.Node) { r.flow.Version = plain(n) },
		"description":   func(n source.Node) { r.flow.Description = optionalText(n) },
		"system_prompt": func(n source.Node) { r.flow.SystemPrompt = n.Text() },
		"initial_state": func(n source.Node) { initial = n },
		"states": func(n source.Node) {
			for name, state := range n.Entries() {
				r.state(name, state)
			}
		},
		"apis":        func(n source.Node) { r.flow.apis = r.remotes(n, false) },
		"tools":       func(n source.Node) { r.flow.tools = r.remotes(n, true) },
		"transitions": func(n source.Node) { transitions = n },
	})
	if r.flow.ID == "" {
		n.Report("add `name:` with the flow's name", "a flow needs a name")
	}
	if len(r.flow.Nodes) == 0 {
		n.Report("add `states:` with at least one state", "the flow has no states")
		return
	}
	r.initial(n, initial)
	if transitions.Kind != source.Null {
		for _, item := range transitions.List() {
			r.transition(item)
		}
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

func (r *reader) state(name string, n source.Node) {
	s := &State{Progress: -1}
	node := &Node{ID: name, Type: Conversation, State: s}
	r.fields(n, map[string]func(source.Node){
		"type": func(n source.Node) {
			s.Type = StateType(n.OneOf(string(Question), string(Confirmation), string(DataCollection), string(AIResponse), string(End)))
		},
		"message":    func(n source.Node) { r.message(n, node) },
		"field":      func(n source.Node) { s.Field = NormalKey(n.Text()) },
		"actions":    func(n source.Node) { s.Actions = r.actions(n) },
		"validation": func(n source.Node) { s.Validation = r.validation(n) },
		"metadata":   func(n source.Node) { r.stateMetadata(n, s) },
		"tools":      func(n source.Node) { r.listed[node] = n },
	})
	if n.Kind == source.Map && !n.Has("type") {
		n.Report("add `type:` question, confirmation, data_collection, ai_response or end", "state %q has no type", name)
	}
	if strings.TrimSpace(name) == "" || len(name) > maxName {
		n.Report(fmt.Sprintf("use 1 to %d characters", maxName), "%q is not a valid name for a state", clip(name, 40))
	}
	if s.Type == End {
		node.Type = Stop
	}
	keepAnswer(node)
	r.add(n, node)
}

// maxName bounds the name of a state.
const maxName = 200

// keepAnswer sets the field of a state that collects data: the named one, that of a set_field without a value, or the state's own name.
func keepAnswer(n *Node) {
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

// message reads a text, or {text, quick_replies, buttons}.
func (r *reader) message(n source.Node, node *Node) {
	if n.Kind != source.Map {
		node.Prompt = optionalText(n)
		return
	}
	r.fields(n, map[string]func(source.Node){
		"text":          func(n source.Node) { node.Prompt = optionalText(n) },
		"quick_replies": func(n source.Node) { node.State.QuickReplies = buttonTexts(r.buttons(n)) },
		"buttons":       func(n source.Node) { node.State.Buttons = r.buttons(n) },
	})
}

func (r *reader) buttons(n source.Node) []Button {
	var buttons []Button
	for _, item := range n.List() {
		b := Button{}
		if item.Kind == source.Map {
			label := func(n source.Node) { b.Label = plain(n) }
			value := func(n source.Node) { b.Value = plain(n) }
			r.fields(item, map[string]func(source.Node){
				"label": label, "text": label, "title": label, "value": value, "id": value, "payload": value,
			})
		} else {
			b.Label = plain(item)
		}
		buttons = append(buttons, b)
	}
	return buttons
}

func buttonTexts(buttons []Button) []string {
	var texts []string
	for _, b := range buttons {
		texts = append(texts, b.Label)
	}
	return texts
}

// stateMetadata reads the part of a state's metadata that the engine uses.
func (r *reader) stateMetadata(n source.Node, s *State) {
	if n.Kind != source.Map {
		n.Read(nil)
		return
	}
	if progress, ok := n.Get("progress"); ok {
		if p, ok := progress.Float(); ok {
			s.Progress = p
		}
	}
	if n.Has("skip_conditions") {
		for _, item := range n.Field("skip_conditions").List() {
			s.Skip = append(s.Skip, r.condition(item, 0))
		}
	}
}

func (r *reader) transition(n source.Node) {
	var from, to source.Node
	o := &Option{at: standing(n)}
	r.fields(n, map[string]func(source.Node){
		"id":        func(n source.Node) { o.ID = plain(n) },
		"from":      func(n source.Node) { from = n },
		"to":        func(n source.Node) { to = n },
		"label":     func(n source.Node) { o.Label = optionalText(n) },
		"when":      func(n source.Node) { o.When = optionalText(n) },
		"examples":  func(n source.Node) { o.Examples = optionalTexts(n) },
		"condition": func(n source.Node) { o.Rule = r.rule(n) },
		"actions":   func(n source.Node) { o.Actions = r.actions(n) },
		"priority":  func(n source.Node) { o.Priority = int(n.Number(-1e6, 1e6)) },
	})
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
		from.Report("remove the transition, or give the state another type", "the transition starts at %q, which is an end", name)
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

// freeID returns the ID of a transition: the author's, or its target's, with a number if several lead to the same target.
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
