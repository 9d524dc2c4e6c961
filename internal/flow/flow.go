// Package flow runs conversations along a flow: a graph of nodes, each with a prompt and with options that lead to other nodes.
//
// Two kinds of flow have one normal form. In a node flow a model chooses the option, through the tool process_node.
// In a state machine rules choose, and the model is asked only when no rule decides.
// The engine is stateless: a Context goes in, a Result comes out. It knows nothing of evaluation.
package flow

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"rehearse/internal/llm"
	"rehearse/internal/source"
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
	// File is where the flow came from. Warnings are oddities that do not keep the flow from running.
	File     string
	Warnings source.Problems

	byID map[string]*Node
}

// Node returns the node with that id.
func (f *Flow) Node(id string) (*Node, bool) {
	n, ok := f.byID[id]
	return n, ok
}

// Type is a node's type, as the published schemas name it.
type Type string

// The node types. Every state of a state machine that does not end is a Conversation.
const (
	Start        Type = "start"
	Conversation Type = "conversation"
	Stop         Type = "stop"
)

// Node is one step of a flow.
type Node struct {
	ID   string
	Type Type
	// Prompt tells the model how to talk here; in a state machine it is the message itself.
	Prompt string
	// Options lead to other nodes. An option of a start node has its target's ID; a stop has no options.
	Options []*Option
	// State has the parts that only a state machine has; nil in a node flow.
	State *State

	at         source.Problem // where the node stands
	descriptor *Descriptor
	// system is the first message of every prompt at this node; tool is process_node as bound here.
	system string
	tool   llm.Tool
}

// Ends reports whether the node is terminal.
func (n *Node) Ends() bool { return n.Type == Stop }

// Stay is the hidden option of every conversation node: no option fits yet.
const Stay = "-1"

// Option leads from a node to the next.
type Option struct {
	ID, Label string
	// When and Examples say when the option fits.
	When     string
	Examples []string
	// Next is nil where the flow ends.
	Next *Node
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

// finish prepares, once, what every turn at a node needs.
func (f *Flow) finish() {
	for _, n := range f.Nodes {
		n.descriptor = describe(n)
		n.system = systemText(f, n)
		n.tool = processNode(n)
	}
}

func describe(n *Node) *Descriptor {
	d := &Descriptor{ID: n.ID, Type: n.Type, Prompt: n.Prompt}
	if n.Type == Start {
		return d
	}
	for _, o := range n.Options {
		d.Options = append(d.Options, DescriptorOption{o.ID, o.Label})
	}
	if n.State != nil {
		d.QuickReplies, d.Buttons = n.State.QuickReplies, n.State.Buttons
	}
	return d
}

// maxNodeID bounds the length of an id that NodeID makes.
const maxNodeID = 80

// NodeID returns the ID of a node that stands for a state: lower case, without accents, with _ for characters that an ID must not contain.
// GetRide:INFORM becomes getride_inform. A valid ID stays unchanged. The ID is "state" when nothing of the name remains.
func NodeID(state string) string {
	if len(state) <= maxNodeID && nodeID.MatchString(state) {
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
