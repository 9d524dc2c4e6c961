package flow

import (
	"sort"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

// Bounds of one chunk. A conversation that arrives with many turns and no summary gets one chunk a turn until it has
// caught up.
const (
	maxChunkTurns = 500
	// From this size on, no further turn is added; four turns of the longest messages are smaller.
	fullMessages = 2 * maxChunkTurns
	fullTokens   = 20_000
	// Further messages are left out. Only a single long turn reaches this bound.
	maxChunkMessages = fullMessages + 100
	maxChunkTokens   = 30_000
)

// messagesOf returns the messages of as many of the wanted turns as fit into one chunk, oldest first, and the span of
// these turns. The span begins where the wanted turns begin, even if the history begins later, so that chunks leave no
// gap. The history is numbered.
func messagesOf(history []Message, wanted span) ([]quoted, span) {
	history = history[firstAfter(history, wanted.from-1):]
	if len(history) == 0 || history[0].number > wanted.to {
		return nil, wanted
	}
	turn := history[0].number
	covered := span{wanted.from, wanted.to}
	if covered.to-turn >= maxChunkTurns {
		covered.to = turn + maxChunkTurns - 1
	}
	var messages []quoted
	used := 0
	for _, m := range history {
		if m.number > covered.to {
			break
		}
		if m.number > turn && (len(messages) >= fullMessages || used >= fullTokens) {
			covered.to = m.number - 1
			break
		}
		turn = m.number
		if len(messages) < maxChunkMessages && used < maxChunkTokens {
			messages = append(messages, quote(m))
			used += tokens(messages[len(messages)-1].Content)
		}
	}
	return messages, covered
}

// firstAfter returns the index of the first message after a turn, in a numbered history.
func firstAfter(history []Message, turn int) int {
	return sort.Search(len(history), func(i int) bool { return history[i].number > turn })
}

// isUser reports whether a message is the user's; every other role counts as the assistant's.
func isUser(m Message) bool { return m.Role == chat.User }
