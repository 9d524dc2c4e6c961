package mine

import (
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

const (
	// maxStates and maxMoves bound the different states and transitions; further ones are not counted.
	maxStates = 2_000
	maxMoves  = 20_000
	// maxStateName bounds a state's name in bytes; a longer one does not count as a state.
	maxStateName = 200
)

// tally has the counts of a log.
type tally struct {
	states  map[string]*state
	moves   map[move]*traffic
	learned Learned
	left    Left
	budget  budget
}

// state is a state of the log with its counts.
type state struct {
	name string
	// entered is how often it was entered, begun how many sessions began in it, completed how many completed in it.
	entered, begun, completed int
	// stays is the number of user messages after which the session stayed there.
	stays int
	// stopped is how many sessions ended in it, completed or not.
	stopped int
	// greeted has the bot's messages on entering it, spoken its other messages there.
	greeted, spoken texts
	// stayed has the user messages after which the session stayed there.
	stayed texts
}

// move leads from a state to another one.
type move struct{ from, to string }

// traffic has the counts of a move.
type traffic struct {
	count int
	said  texts
}

func newTally() *tally {
	return &tally{states: map[string]*state{}, moves: map[move]*traffic{}, budget: budget{bytes: maxTextBytes}}
}

// take counts a session.
func (t *tally) take(s *replay.Session) {
	t.learned.Sessions++
	if t.learned.First.IsZero() || s.Started.Before(t.learned.First) {
		t.learned.First = s.Started
	}
	if s.Started.After(t.learned.Last) {
		t.learned.Last = s.Started
	}
	w := walk{tally: t}
	for i := range s.Messages {
		if m := &s.Messages[i]; m.User {
			w.user(m)
		} else {
			w.bot(m)
		}
	}
	w.end(s.Completed)
	t.left.Texts = t.budget.refused
}

// walk follows one session through its states.
type walk struct {
	*tally
	// at is the session's state, nil before its first message with a state.
	at *state
	// last is what the user said last, when that stayed.
	last *phrase
	// entering is true until the bot has spoken in a state that was just come to.
	entering bool
}

// state returns the state of that name, nil when it cannot be counted.
func (t *tally) state(name string) *state {
	s := t.states[name]
	if s == nil && name != "" && len(name) <= maxStateName && utf8.ValidString(name) && len(t.states) < maxStates {
		s = &state{name: name}
		t.states[name] = s
	}
	return s
}

// user counts a user message. Sessions begin and states change with user messages.
func (w *walk) user(m *replay.LoggedMessage) {
	w.learned.Messages++
	before, after := w.state(m.Before), w.state(m.After)
	if before == nil || after == nil {
		w.left.Stateless++
		return
	}
	switch {
	case w.at == nil:
		before.begun++
		before.entered++
	case w.at != before:
		w.left.Jumps++
		before.entered++
	}
	w.at, w.last, w.entering = after, nil, before != after
	if before == after {
		before.stays++
		w.last = w.budget.add(&before.stayed, m.Text, m.At, maxExampleLength)
		return
	}
	after.entered++
	key := move{m.Before, m.After}
	seen := w.moves[key]
	if seen == nil {
		if len(w.moves) == maxMoves {
			w.left.Moves++
			return
		}
		seen = &traffic{}
		w.moves[key] = seen
	}
	seen.count++
	w.budget.add(&seen.said, m.Text, m.At, maxExampleLength)
}

// bot counts a message of the bot. It belongs to the state that the user's message led to; before the first one, to its
// own state.
func (w *walk) bot(m *replay.LoggedMessage) {
	at := w.at
	if at == nil {
		at = w.state(m.Before)
	}
	if at == nil {
		return
	}
	said := &at.spoken
	if w.entering {
		said = &at.greeted
	}
	w.budget.add(said, m.Text, m.At, maxPromptLength)
	w.entering = false
}

// end counts where a session ended.
func (w *walk) end(completed bool) {
	if w.at == nil {
		return
	}
	w.at.stopped++
	if completed {
		w.at.completed++
	}
	if w.last != nil {
		w.last.ended++
	}
}
