package flow

import (
	"slices"

	"rehearse/internal/chat"
)

// Bounds of one chunk. A conversation that arrives with many turns and no summary gets one chunk a turn until it has caught up.
const (
	maxChunkTurns = 500
	// From this size on, no further turn is added; four turns of the longest messages are smaller.
	fullMessages = 2 * maxChunkTurns
	fullTokens   = 20_000
	// Further messages are left out. Only a single long turn reaches this bound.
	maxChunkMessages = fullMessages + 100
	maxChunkTokens   = 30_000
)

// messagesOf returns the messages of as many of the wanted turns as fit into one chunk, oldest first, and the span of these turns.
// The span begins where the wanted turns begin, even if the history begins later, so that chunks leave no gap.
// It reads the history from its end to the wanted turns only.
func messagesOf(history []Message, lastTurn int, wanted span) ([]quoted, span) {
	start, turn, found := firstOf(history, lastTurn, wanted)
	if !found {
		return nil, wanted
	}
	covered := span{wanted.from, wanted.to}
	if covered.to-turn >= maxChunkTurns {
		covered.to = turn + maxChunkTurns - 1
	}
	var messages []quoted
	used := 0
	for i := start; i < len(history); i++ {
		m := history[i]
		next := turn
		switch {
		case m.Turn > 0:
			next = m.Turn
		case i > start && isUser(m) && !isUser(history[i-1]):
			next++
		}
		if next > covered.to {
			break
		}
		if next > turn && (len(messages) >= fullMessages || used >= fullTokens) {
			covered.to = next - 1
			break
		}
		turn = next
		if len(messages) < maxChunkMessages && used < maxChunkTokens {
			messages = append(messages, quote(m, turn))
			used += tokens(messages[len(messages)-1].Content)
		}
	}
	return messages, covered
}

// firstOf returns the index and the turn of the oldest message of the wanted turns.
func firstOf(history []Message, lastTurn int, wanted span) (place, turn int, found bool) {
	turns := turnsBack{turn: lastTurn}
	for i, m := range slices.Backward(history) {
		n := turns.of(m)
		if n < wanted.from {
			break
		}
		if n <= wanted.to {
			place, turn, found = i, n, true
		}
	}
	return place, turn, found
}

// turnsBack numbers messages from the newest to the oldest. A message with a turn keeps it. Others are counted from the message after
// them: an exchange is the user's messages and then the assistant's, and the last answer belongs to the given turn. The count falls below 1
// when the history is longer than its memory says; such messages belong to no turn.
type turnsBack struct {
	turn     int
	started  bool
	userNext bool // the message after this one was the user's
}

func (t *turnsBack) of(m Message) int {
	user := isUser(m)
	switch {
	case m.Turn > 0:
		t.turn = m.Turn
	case !t.started && user: // not answered yet
		t.turn++
	case t.userNext && !user:
		t.turn--
	}
	t.started, t.userNext = true, user
	return t.turn
}

// isUser reports whether a message is the user's; every other role counts as the assistant's.
func isUser(m Message) bool { return m.Role == chat.User }
