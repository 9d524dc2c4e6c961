package replay

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
)

// Nodes are what a replay knows of a flow: where it begins, which nodes it has, and what they ask for. It is never
// changed and safe for concurrent use.
type Nodes struct {
	start string
	byID  map[string]node
	// behind are the nodes to which a start node leads.
	behind []string
}

type node struct {
	ends bool
	asks string
}

// NodesOf returns the nodes of a flow.
func NodesOf(f *flow.Flow) *Nodes {
	n := &Nodes{start: f.Start.ID, byID: make(map[string]node, len(f.Nodes))}
	for _, one := range f.Nodes {
		field := ""
		if one.State != nil {
			field = one.State.Field
		}
		options := make([]string, 0, len(one.Options))
		for _, o := range one.Options {
			options = append(options, o.Label+" → "+o.Target())
		}
		n.byID[one.ID] = node{one.Ends(), requestsField(field, options)}
	}
	if f.Start.Type == flow.Start {
		for _, o := range f.Start.Options {
			n.behind = append(n.behind, o.Target())
		}
	}
	return n
}

// ReadNodes reads the nodes of a flow as GET /api/v1/flows/{id} of a server tells them.
func ReadNodes(data []byte) (*Nodes, error) {
	var told struct {
		Start string `json:"start"`
		Nodes []struct {
			ID      string    `json:"id"`
			Type    flow.Type `json:"type"`
			Field   string    `json:"field"`
			Options []struct {
				Label string  `json:"label"`
				Next  *string `json:"next"`
			} `json:"options"`
		} `json:"nodes"`
	}
	if err := json.Unmarshal(data, &told); err != nil {
		return nil, fmt.Errorf("read the nodes of a flow: %w", err)
	}
	n := &Nodes{start: told.Start, byID: make(map[string]node, len(told.Nodes))}
	for _, one := range told.Nodes {
		options := make([]string, 0, len(one.Options))
		for _, o := range one.Options {
			next := ""
			if o.Next != nil {
				next = *o.Next
			}
			options = append(options, o.Label+" → "+next)
			if one.ID == told.Start && one.Type == flow.Start {
				n.behind = append(n.behind, next)
			}
		}
		n.byID[one.ID] = node{one.Type == flow.Stop, requestsField(one.Field, options)}
	}
	if _, ok := n.byID[n.start]; !ok {
		return nil, fmt.Errorf("read the nodes of a flow: its start %q is none of them", told.Start)
	}
	return n, nil
}

// fieldPrefix begins the request of a node that fills a field.
const fieldPrefix = "field "

// requestsField names the field that a node fills, or else the options that it offers.
func requestsField(field string, options []string) string {
	if field != "" {
		return fieldPrefix + field
	}
	slices.Sort(options)
	return strings.Join(options, "\n")
}

// find returns the id of the node that stands for a logged state.
func (n *Nodes) find(state string) (id string, ok bool) {
	if _, ok := n.byID[state]; ok {
		return state, true
	}
	id = flow.NodeID(state)
	_, ok = n.byID[id]
	return id, ok
}

// opening returns the node at which a conversation begins: the flow's start or, where the log's first state is one to
// which that leads, this one.
func (n *Nodes) opening(first string) string {
	if id, ok := n.find(first); ok && !n.byID[id].ends && slices.Contains(n.behind, id) {
		return id
	}
	return n.start
}

// begin returns the node at which a conversation begins at a moment, or why there is none.
func (n *Nodes) begin(at Moment) (id string, err error) {
	if at.Resumed {
		return n.stand(at.State)
	}
	return n.opening(at.State), nil
}

// stand returns the node at which a conversation can go on, or why there is none.
func (n *Nodes) stand(state string) (id string, err error) {
	id, ok := n.find(state)
	switch {
	case !ok:
		return "", &NotThereError{state, "the flow has none of that name"}
	case n.byID[id].ends:
		return "", &NotThereError{state, "the flow ends there"}
	}
	return id, nil
}

// asks says what a state asks for; nothing where the flow ends.
func (n *Nodes) asks(state string) string {
	id, ok := n.find(state)
	if !ok || n.byID[id].ends {
		return ""
	}
	return n.byID[id].asks
}
