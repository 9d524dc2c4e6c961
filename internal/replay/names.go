package replay

import "rehearse/internal/flow"

// logged returns how the session calls the states that its agents, whose names are ids of nodes, call by flow.NodeID. A name that could stand
// for two states stands for itself. It is nil where all names are ids.
func (s *Session) logged() map[string]string {
	var names map[string]string
	for i := range s.Messages {
		for _, state := range [2]string{s.Messages[i].Before, s.Messages[i].After} {
			id := flow.NodeID(state)
			if id == state || state == "" {
				continue
			}
			if names == nil {
				names = map[string]string{}
			}
			if other, taken := names[id]; taken && other != state {
				state = id
			}
			names[id] = state
		}
	}
	return names
}
