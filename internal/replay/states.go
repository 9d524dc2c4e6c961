package replay

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// StateSource is where a log has the state after a turn.
type StateSource string

// The sources, in the order in which they are looked at: the first that has a state counts.
const (
	FromUserNext      StateSource = "user_next_state"
	FromBotNext       StateSource = "bot_next_state"
	FromBotCurrent    StateSource = "bot_current_state"
	FromNextUser      StateSource = "next_user_current_state"
	FromFinal         StateSource = "final_state"
	FromNoTransition  StateSource = "no_transition" // the state before, in a log that writes transitions only
	FromUnknownSource StateSource = "unknown"
)

// stateSources lists the sources with their meaning.
var stateSources = []struct {
	source StateSource
	words  string
}{
	{FromUserNext, "next_state of the user's row"},
	{FromBotNext, "next_state of the bot's row"},
	{FromBotCurrent, "current_state of the bot's row"},
	{FromNextUser, "current_state of the next user row"},
	{FromFinal, "the final state"},
	{FromNoTransition, "the state before, as no transition is logged"},
	{FromUnknownSource, "unknown"},
}

// rowStates are the states that the row of a message has; an empty one is not there.
type rowStates struct {
	current, next string
	// stays is true of a row that says that there is no transition.
	stays bool
	// source is where the state after the turn of a user's message was read.
	source StateSource
}

// states returns the states of a row. A next_state that contradicts its state_transition does not count.
func (p *payload) states(current string) rowStates {
	r := rowStates{current: current, next: p.Next, stays: p.Transition != nil && !*p.Transition}
	if r.stays && r.next != current {
		r.next = ""
	}
	return r
}

// readStates sets the states around each message of a whole session. It is the only place that decides where a log has
// the state after a turn.
func (s *Session) readStates() *Session {
	if len(s.flows) == 0 && len(s.earlier) > 0 {
		s.flows, s.FlowID = s.earlier, s.earlier[0]
	}
	users := s.places()
	state := ""
	transitions := slices.ContainsFunc(s.Messages, func(m LoggedMessage) bool { return m.logged.next != "" })
	for i := range s.Messages[:firstOf(users, len(s.Messages))] { // what the bot says first
		m := &s.Messages[i]
		state = cmp.Or(m.logged.next, m.logged.current, state)
		m.Before, m.After = state, state
	}
	for k, at := range users {
		end := firstOf(users[k+1:], len(s.Messages))
		m, answers := &s.Messages[at], s.Messages[at+1:end]
		m.Before = cmp.Or(m.logged.current, state)
		m.After, m.logged.source = s.stateAfter(m, answers, end, transitions)
		state = m.After
		for i := range answers {
			a := &answers[i]
			a.Before = cmp.Or(a.logged.next, a.logged.current, state)
			a.After = a.Before
		}
	}
	return s
}

// firstOf is the first of some places, else one behind them.
func firstOf(places []int, end int) int {
	if len(places) == 0 {
		return end
	}
	return places[0]
}

// stateAfter reads the state after the turn of a user's message, with the bot's answers to it. The next user's message,
// if any, is at next. Of several answers the last that has a state counts. Transitions is true of a session that has
// some next_state: where it has none, the state stays.
func (s *Session) stateAfter(m *LoggedMessage, answers []LoggedMessage, next int,
	transitions bool) (string, StateSource) {
	botNext, botCurrent := "", ""
	for i := range answers {
		botNext, botCurrent = cmp.Or(answers[i].logged.next, botNext), cmp.Or(answers[i].logged.current, botCurrent)
	}
	switch {
	case m.logged.next != "":
		return m.logged.next, FromUserNext
	case botNext != "":
		return botNext, FromBotNext
	case botCurrent != "":
		return botCurrent, FromBotCurrent
	case next < len(s.Messages) && s.Messages[next].logged.current != "":
		return s.Messages[next].logged.current, FromNextUser
	case next == len(s.Messages) && s.final != "":
		return s.final, FromFinal
	case m.Before != "" && (m.logged.stays || transitions):
		return m.Before, FromNoTransition
	}
	return "", FromUnknownSource
}

// hasStates reports whether any state is known. Sequences without one are compared with nothing.
func hasStates(states []string) bool {
	return len(states) == 0 || slices.ContainsFunc(states, func(state string) bool { return state != "" })
}

// LoggedStates says where the states of a log were read, and whether the log passes as a replay of itself: an agent
// that stands where the log says that its conversations stood has to have a state progression match of 1.
type LoggedStates struct {
	// Sources counts turns by where the state after them was read.
	Sources map[StateSource]int `json:"sources"`
	// SelfMatch is the state progression match of the log with itself, nil where no session has a state.
	SelfMatch *float64 `json:"self_match"`
	// Sessions are those that have a state, Below counts those of them that do not match themselves; Examples names
	// some.
	Sessions int      `json:"sessions"`
	Below    int      `json:"below"`
	Examples []string `json:"examples,omitempty"`

	sum float64
}

// noState is the state of a replay where the log has none: an agent that reports states reports another.
const noState = "\x00"

// add counts a session. Side says which of its states count, similarity how they are compared.
func (l *LoggedStates) add(s *Session, side Side, similarity func(a, b []string) float64) {
	if l.Sources == nil {
		l.Sources = map[StateSource]int{}
	}
	users := s.places()
	stood := make([]string, 0, len(users))
	for k, at := range users {
		m := &s.Messages[at]
		l.Sources[m.logged.source]++
		state := s.final
		if k+1 < len(users) {
			state = s.Messages[users[k+1]].logged.current
		}
		stood = append(stood, cmp.Or(state, m.After, noState))
	}
	was := s.States(side)
	if len(users) == 0 || !hasStates(was) {
		return
	}
	match := similarity(was, stood)
	l.Sessions++
	l.sum += match
	if match < 1 {
		if l.Below++; len(l.Examples) < maxExamples {
			l.Examples = append(l.Examples, s.ID)
		}
	}
	l.SelfMatch = new(l.sum / float64(l.Sessions))
}

// Words says where the states were read, and what the log comes to beside itself; empty where nothing was read.
func (l *LoggedStates) Words() string {
	if l == nil || len(l.Sources) == 0 {
		return ""
	}
	var from []string
	for _, s := range stateSources {
		if n := l.Sources[s.source]; n > 0 {
			from = append(from, fmt.Sprintf("%s (%s)", s.words, text.Plural(n, "turn")))
		}
	}
	if l.SelfMatch == nil {
		return "The log has no states."
	}
	return fmt.Sprintf("States of the log: %s. The log against itself: %s.",
		strings.Join(from, ", "), text.Percent(*l.SelfMatch))
}

// Warning says that the log does not match itself, so that no agent can follow it; empty where it does.
func (l *LoggedStates) Warning() string {
	if l == nil || l.Below == 0 {
		return ""
	}
	return fmt.Sprintf("the log against itself has a state progression match of %s, not 100%%: "+
		"%d of %s contradict themselves or lack states (%s). State figures of both agents are too low; "+
		"check where the log has the state after a turn", text.Percent(*l.SelfMatch), l.Below,
		text.Plural(l.Sessions, "session"), line(strings.Join(l.Examples, ", ")))
}

// similarityOf is how a mode compares sequences of states. Forced turns are independent: each is compared with its own
// logged one, since a state that is right one turn late is wrong.
func similarityOf(mode Mode) func(a, b []string) float64 {
	if mode == Forced {
		return stats.PositionalMatch[string]
	}
	return stats.LevenshteinSimilarity[string]
}
