package flow

// NoMatch is where a conversation goes that stays at a node again and again.
type NoMatch struct {
	// Max is how often in a row a turn may stay.
	Max int `key:"max" minimum:"1" doc:"turns in a row that may stay at the node"`
	// Next is nil where the flow ends.
	Next *Node
	// Prompt tells the model how to ask again until then; empty leaves that to the node's own prompt.
	Prompt string `key:"prompt" doc:"the model's instructions until then"`

	target string
	option *Option // Stay, leading to Next
}

// Target returns the id of the next node, empty where the flow ends.
func (m *NoMatch) Target() string { return m.target }

// staysBefore counts the last turns in a row that stayed at a node, up to most. It reads them from the messages of the
// assistant.
func staysBefore(history []Message, node string, most int) (row int) {
	for i := len(history) - 1; i >= 0 && row < most; i-- {
		m := history[i]
		switch {
		case isUser(m):
		case m.NodeID == node && m.Debug != nil && m.Debug.Stayed:
			row++
		default:
			return row
		}
	}
	return row
}

// stay stays at the node or, when the turns have stayed there too often, gives up and goes on where the node says.
func (t *turn) stay() step {
	m := t.node.NoMatch
	if m == nil || staysBefore(t.in.History, t.node.ID, m.Max) < m.Max {
		return stay(t.node)
	}
	t.warn(NoMatchFound)
	return advance(m.option)
}
