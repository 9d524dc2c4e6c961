// Package flow runs conversations along a flow: a graph of nodes, each with a prompt and with options that lead to
// other nodes.
//
// Two kinds of flow have one normal form. In a node flow a model chooses the option, through the tool process_node.
// In a state machine rules choose, and the model is asked only when no rule decides.
// The engine is stateless: a Context goes in, a Result comes out. It knows nothing of evaluation.
package flow

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Flow is a loaded flow. It is immutable and safe for concurrent use.
type Flow struct {
	ID string
	// Version is as written: 1, or 1.0.0.
	Version      string
	Description  string
	SystemPrompt string
	// Machine is true for a state machine.
	Machine bool
	Start   *Node
	// Nodes are in the order of the file.
	Nodes []*Node
	// Globals are offered at every conversation node that does not refuse them.
	Globals []*Option
	// File is where the flow came from. Warnings are oddities that do not keep the flow from running.
	File     string
	Warnings source.Problems

	byID map[string]*Node
	// apis and tools are what the flow may call, by name; nil where it does not say.
	apis, tools map[string]*Remote
	// others are the files of the flows that it calls, without its own.
	others []string
	// inline is true of a flow that stands in a request: it calls nothing.
	inline bool
	// calls are the nodes that call other flows, which linking has replaced by the nodes of these.
	calls []*Node
}

// Node returns the node with that id.
func (f *Flow) Node(id string) (*Node, bool) {
	n, ok := f.byID[id]
	return n, ok
}

// Type is a node's type, as the published schemas name it.
type Type string

// The node types. Every state of a state machine that does not end is a Conversation. A loaded flow has no Call: it has
// the nodes of the called flow.
const (
	Start        Type = "start"
	Conversation Type = "conversation"
	Stop         Type = "stop"
	Call         Type = "call"
)

// Node is one step of a flow.
type Node struct {
	ID   string `key:"id" schema:"node_id" doc:"the node's name"`
	Type Type   `key:"type" enum:"start,conversation,call,stop" doc:"what happens at the node"`
	// Prompt tells the model how to talk here; in a state machine it is the message itself.
	Prompt string `key:"prompt" doc:"the model's instructions at the node"`
	// Options lead to other nodes. An option of a start node has its target's ID; a stop has no options.
	Options []*Option
	// Globals are the global options that are offered here.
	Globals []*Option
	// NoMatch is where a conversation goes that stays here too often; nil lets it stay.
	NoMatch *NoMatch
	// State has the parts that only a state machine has; nil in a node flow.
	State *State

	// tools are those of its flow that the model may use here.
	tools []*Remote
	// within are the system prompts of the called flows around the node, the outermost first.
	within []string
	// calls is the flow that a Call calls. alone is true of a node that refuses global options.
	calls string
	alone bool

	at          source.Problem // where the node stands
	conditional bool           // some options have conditions
	offer       func() *offer  // of all options, made once
}

// Ends reports whether the node is terminal.
func (n *Node) Ends() bool { return n.Type == Stop }

// Stay is the hidden option of every conversation node: no option fits yet.
const Stay = "-1"

// Option leads from a node to the next.
type Option struct {
	ID    string `key:"id" doc:"short name"`
	Label string `key:"label" doc:"what the option is called"`
	// When and Examples say when the option fits.
	When     string   `key:"when" doc:"when the option fits, in words"`
	Examples []string `key:"examples" doc:"messages of users for which the option fits"`
	// Next is nil where the flow ends.
	Next *Node
	// If says with which facts the option is offered; nil offers it always. Only node flows have such conditions.
	If *Condition
	// Global is the name of a global option in its flow; empty for an option of a node.
	Global string
	// Rule decides without a model; nil leaves the choice to the model. Only state machines have rules.
	Rule *Condition
	// Priority orders rules: the greatest is tried first, then the order of the file.
	Priority int
	// Actions run when the option is taken.
	Actions []Action

	target string
	at     source.Problem // where the option stands
}

// Target returns the id of the next node, empty where the flow ends.
func (o *Option) Target() string { return o.target }

// maxNodeID bounds the length of an id that NodeID makes.
const maxNodeID = 80

// NodeID returns the ID of a node that stands for a state: lower case, without accents, with _ for characters that an
// ID must not contain. GetRide:INFORM becomes getride_inform. A valid ID stays unchanged. The ID is "state" when
// nothing of the name remains.
func NodeID(state string) string {
	if len(state) <= maxNodeID && nodeID().MatchString(state) {
		return state
	}
	var id strings.Builder
	gap := false // the next letter or digit needs a _ before it
	for _, r := range norm.NFKD.String(strings.ToLower(state)) {
		switch {
		case unicode.IsMark(r): // an ö is an o
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '_':
			if gap && id.Len() > 0 {
				id.WriteByte('_')
			}
			gap = false
			id.WriteRune(r)
		default:
			gap = true
		}
		if id.Len() >= maxNodeID {
			break
		}
	}
	if id.Len() == 0 {
		return "state"
	}
	return id.String()
}
