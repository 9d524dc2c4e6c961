package mine

import (
	"fmt"
	"strings"
	"unicode"

	"rehearse/internal/flow"
)

const (
	// startID and endID are the IDs of the start node and of an option that ends the flow, unless a state has such a name.
	startID = "start"
	endID   = "end"
)

// names gives every state the id of the node that stands for it in a replay. States whose names are ids already keep them, in whatever order they come;
// of others that come to the same id the later ones get a number.
func names(states []*state) map[*state]string {
	ids, taken := map[*state]string{}, map[string]bool{}
	for _, s := range states {
		if flow.NodeID(s.name) == s.name {
			ids[s], taken[s.name] = s.name, true
		}
	}
	for _, s := range states {
		if ids[s] == "" {
			ids[s] = free(flow.NodeID(s.name), taken)
			taken[ids[s]] = true
		}
	}
	return ids
}

// free returns an ID that is not taken: the given one, or that one with a number.
func free(id string, taken map[string]bool) string {
	for n, candidate := 2, id; ; n++ {
		if !taken[candidate] {
			return candidate
		}
		candidate = fmt.Sprintf("%s_%d", id, n)
	}
}

// label returns a readable form of a state's name.
func label(name string) string {
	text := strings.Join(strings.FieldsFunc(tidy(name, maxStateName), func(r rune) bool { return unicode.IsSpace(r) || r == '_' }), " ")
	for i, r := range text {
		return text[:i] + string(unicode.ToUpper(r)) + text[i+len(string(r)):]
	}
	return "State"
}
