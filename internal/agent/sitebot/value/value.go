// Package value finds what a visitor says in a message: addresses, days and numbers to call, in seven languages, and brings them into one form
// (sitebot.md 2.15). It asks no model and keeps nothing.
package value

// Text is a message in which values are looked for. What one search takes, no later one finds: look for an address first, then for a day, then for a
// number. It is for one goroutine.
type Text struct {
	// rest is the message; what was taken is blanked, so that places stay as they are.
	rest []byte
}

// In returns a message to look into.
func In(message string) *Text { return &Text{[]byte(message)} }

// Found is a value and where in the message its words are.
type Found struct {
	Value    string
	From, To int
}

// taken stands in for a byte of what a search has taken. It is no part of any value.
const taken = 0

// take blanks a part of the message.
func (t *Text) take(from, to int) {
	for i := from; i < to; i++ {
		t.rest[i] = taken
	}
}

// Rest returns the message without what the searches have taken, which is cut into the pieces around it.
func (t *Text) Rest() []string {
	var pieces []string
	from := 0
	for i, b := range t.rest {
		if b != taken {
			continue
		}
		if i > from {
			pieces = append(pieces, string(t.rest[from:i]))
		}
		from = i + 1
	}
	return append(pieces, string(t.rest[from:]))
}
