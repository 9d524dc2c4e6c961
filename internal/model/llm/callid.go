package llm

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// callIDs gives the tool calls of a conversation the IDs that go over the wire: those that they have, unless the
// provider refuses them. Recorded conversations may have calls without an ID, several with the same, and those of
// another provider.
type callIDs struct {
	// fit makes an ID one that the provider takes; nil takes any.
	fit func(id string) string
	// unique gives each call of the conversation an ID of its own, not only each call of a message.
	unique bool
	n      int
	used   map[string]bool
	// open are the IDs of the latest message's calls that wait for an answer, in order, by their original IDs.
	open map[string][]string
}

// message begins a message with calls.
func (c *callIDs) message() {
	c.open = map[string][]string{}
	if c.used == nil || !c.unique {
		c.used = map[string]bool{}
	}
}

// call returns the ID of a call.
func (c *callIDs) call(id string) string {
	c.n++
	first := id
	if first == "" {
		first = fmt.Sprintf("call_%d", c.n)
	}
	fitted := c.fitted(first)
	for n := 2; c.used[fitted]; n++ {
		fitted = c.fitted(fmt.Sprintf("%s_%d", first, n))
	}
	c.used[fitted] = true
	c.open[id] = append(c.open[id], fitted)
	return fitted
}

func (c *callIDs) fitted(id string) string {
	if c.fit == nil {
		return id
	}
	return c.fit(id)
}

// answer returns the ID in a tool message. ok is false for one that answers no call of the latest message.
func (c *callIDs) answer(id string) (fitted string, ok bool) {
	waiting := c.open[id]
	if len(waiting) == 0 {
		return c.fitted(id), false
	}
	c.open[id] = waiting[1:]
	return waiting[0], true
}

// mistralCallID makes an ID one of nine letters and digits, the only ones that Mistral takes.
func mistralCallID(id string) string {
	fits := len(id) == 9
	for _, r := range id {
		fits = fits && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9')
	}
	if fits {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])[:9]
}

// plainCallID makes an ID one of letters, digits, - and _, which is what Anthropic takes.
func plainCallID(id string) string {
	plain := []byte(id)
	for i, b := range plain {
		if !(b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '-' || b == '_') {
			plain[i] = '_'
		}
	}
	return string(plain)
}
