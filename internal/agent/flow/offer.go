package flow

import (
	"slices"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// offer is what a node offers: its options and the global ones whose conditions hold, in the forms that a turn needs.
type offer struct {
	options    []*Option
	descriptor *Descriptor
	// system is the first message of every prompt at the node; tool is process_node as bound there.
	system string
	tool   llm.Tool
}

// finish prepares what every turn at a node needs. It is made when the first turn comes: a flow in a request has one.
func (f *Flow) finish() {
	for _, n := range f.Nodes {
		n.conditional = slices.ContainsFunc(n.offered(), func(o *Option) bool { return o.If != nil })
		n.offer = sync.OnceValue(func() *offer { return f.offering(n, n.offered()) })
	}
}

// offered returns the options of a node, and then the global ones.
func (n *Node) offered() []*Option { return slices.Concat(n.Options, n.Globals) }

// offering makes the offer of some options of a node.
func (f *Flow) offering(n *Node, options []*Option) *offer {
	o := &offer{options: options, descriptor: describe(n, options)}
	o.system, o.tool = systemText(f, n, o.descriptor), processNode(n, options)
	return o
}

// offerOf returns what a node offers with the live facts of a memory.
func (f *Flow) offerOf(n *Node, m Memory) *offer {
	if !n.conditional {
		return n.offer()
	}
	known := m.live()
	return f.offering(n, slices.DeleteFunc(n.offered(), func(o *Option) bool {
		return o.If != nil && !o.If.holds("", known)
	}))
}

func describe(n *Node, options []*Option) *Descriptor {
	d := &Descriptor{ID: n.ID, Type: n.Type, Prompt: n.Prompt}
	if n.Type == Start {
		return d
	}
	for _, o := range options {
		d.Options = append(d.Options, DescriptorOption{o.ID, o.Label})
	}
	if n.State != nil {
		d.QuickReplies, d.Buttons = n.State.QuickReplies, n.State.Buttons
	}
	return d
}

// live returns a look-up of the live facts of a memory.
func (m Memory) live() fields {
	facts := normalFacts(m.Facts)
	return func(name string) (string, bool) {
		for _, f := range facts {
			if f.Key == name && !f.Deleted {
				return f.Value, true
			}
		}
		return "", false
	}
}
