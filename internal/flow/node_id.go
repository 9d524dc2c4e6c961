package flow

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// maxNodeID bounds the length of an id that NodeID makes.
const maxNodeID = 80

// NodeID returns the id of a node that stands for a state of another name: lower case, without accents, with _ for whatever else an id cannot
// hold. GetRide:INFORM becomes getride_inform. A name that is an id already stays as it is; one of nothing that an id can hold is "state".
func NodeID(state string) string {
	if len(state) <= maxNodeID && nodeID.MatchString(state) {
		return state
	}
	var id strings.Builder
	gap := false // a _ before the next letter or digit
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
