package flow

// maxTurn bounds turn numbers: every JSON reader keeps an integer up to it exactly. A greater turn in a message counts
// as none.
const maxTurn = 1 << 53

// numbered returns a copy of a history in which every message knows its turn. A user's message
// begins a turn, and the messages after it belong to that turn; an assistant's message before the first user's belongs
// to the turn that follows. Turns count from 1, in the order of the list. A message keeps the turn that it gives,
// unless that goes back or is another turn's already.
func numbered(history []Message) []Message {
	known := make([]Message, len(history))
	turn, begun := 0, false
	for i, m := range history {
		given := m.Turn
		if given > maxTurn {
			given = 0
		}
		switch {
		case isUser(m):
			turn, begun = max(given, turn+1), true
			m.number = turn
		case !begun: // the user's first message may share this turn
			m.number = max(given, turn+1)
			turn = m.number - 1
		default:
			turn = max(given, turn)
			m.number = turn
		}
		known[i] = m
	}
	return known
}

// turnsIn returns the last turn that a user has begun in a numbered history, or what comes before the first one.
func turnsIn(history []Message) int {
	last := len(history) - 1
	for i := last; i >= 0; i-- {
		if isUser(history[i]) {
			return history[last].number
		}
	}
	if last < 0 {
		return 0
	}
	return history[last].number - 1
}

// numbering numbers the history of a context, which is not changed. That of a session is numbered already, which keeps
// its turns cheap.
func (c *Context) numbering() []Message {
	if c.isNumbered {
		return c.History
	}
	return numbered(c.History)
}

// Turn returns the number of the turn that comes next. Turns that are done are counted from the memory and from the
// history.
func (c *Context) Turn() int { return turnAfter(c.Memory, c.numbering()) }

func turnAfter(m Memory, history []Message) int {
	return min(max(m.TurnIndex, turnsIn(history), 0), maxTurn) + 1
}
