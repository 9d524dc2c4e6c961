package conversation

import "github.com/rehearse-dev/rehearse/internal/base/chat"

// OfMessages makes a conversation of the messages of a logged session. Logged is its id in the log.
func OfMessages(id, logged string, messages []chat.Message) *Recorded {
	c := &Recorded{
		kind: "session", name: id, parts: []string{id}, why: "the last",
		source: func(int) map[string]any { return map[string]any{"session": logged} },
	}
	for _, m := range messages {
		if m.Role == chat.User {
			c.turns = append(c.turns, len(c.said))
		}
		c.said = append(c.said, utterance{m.Role, m.Content.String()})
	}
	c.chosen = len(c.turns)
	return c
}
