package replay

import (
	"maps"
	"slices"

	"rehearse/internal/flow"
)

// fields returns how the log names the fields that its agents, who write them as flow.NormalKey does, collect: CustomerName, which they call
// customername. Of several names for one field, the first by the alphabet counts. It is nil where all names are alike.
func (s *Session) fields() map[string]string {
	var names map[string]string
	for _, name := range slices.Sorted(maps.Keys(s.Data)) {
		key := flow.NormalKey(name)
		if _, same := s.Data[key]; same || key == "" || names[key] != "" {
			continue
		}
		if names == nil {
			names = map[string]string{}
		}
		names[key] = name
	}
	return names
}

// inWordsOf renames fields.
func inWordsOf(names map[string]string, data map[string]any) map[string]any {
	if len(names) == 0 {
		return data
	}
	renamed := make(map[string]any, len(data))
	for key, value := range data {
		if name := names[key]; name != "" && data[name] == nil {
			key = name
		}
		renamed[key] = value
	}
	return renamed
}

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
