package replay

import "strings"

// How a session ended.
const (
	EndCompleted = "completed"
	EndDropped   = "dropped"
	EndUnknown   = "unknown"
)

// Outcome says how the session ended.
func (s *Session) Outcome() string {
	switch {
	case s.Completed:
		return EndCompleted
	case s.Dropped:
		return EndDropped
	}
	return EndUnknown
}

// observe returns the lane of what was logged. What the bot said before the user's first message belongs to no turn.
func observe(s *Session) Lane {
	lane := Lane{Name: Observed, Completed: s.Completed, Data: s.Data, Turns: make([]LaneTurn, 0, s.Turns())}
	for i := range s.Messages {
		m := &s.Messages[i]
		last := len(lane.Turns) - 1
		switch {
		case m.User:
			lane.Turns = append(lane.Turns, LaneTurn{
				Number: last + 2, User: m.Text, Before: m.Before, State: m.After, Transition: m.Before != m.After, Supported: true,
				Started: m.At, Ended: m.At,
			})
		case last >= 0:
			t := &lane.Turns[last]
			t.Bot = joined(t.Bot, m.Text)
			t.Ended = m.At
			if t.LatencyMS == nil {
				t.LatencyMS = m.LatencyMS
			}
		}
	}
	return lane
}

func joined(said, more string) string {
	if said == "" {
		return more
	}
	return said + "\n" + more
}

// places are the indexes of the user's messages.
func (s *Session) places() []int {
	at := make([]int, 0, len(s.Messages))
	for i := range s.Messages {
		if s.Messages[i].User {
			at = append(at, i)
		}
	}
	return at
}

// askedBefore returns what the bot said last before a message.
func (s *Session) askedBefore(at int) string {
	var said []string
	for i := at - 1; i >= 0 && !s.Messages[i].User; i-- {
		said = append([]string{s.Messages[i].Text}, said...)
	}
	return strings.Join(said, "\n")
}
