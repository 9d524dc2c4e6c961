package flow

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

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
