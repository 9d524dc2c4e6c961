package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"rehearse/internal/source"
)

// Session is a logged conversation.
type Session struct {
	ID, FlowID string
	// UnitID names the user: the unit of the first event that has one.
	UnitID   string
	Messages []Said
	// Completed and Dropped say how it ended; with neither, its outcome is not known.
	Completed, Dropped bool
	// Data is what was collected, nil when the log says nothing of it.
	Data    map[string]any
	Started time.Time
	Ended   time.Time

	turn int // the highest turn number so far
	text int // the bytes of its messages so far
}

// maxMessages bounds the messages of a session that are read, maxText the bytes of what they say.
const (
	maxMessages = 50_000
	maxText     = 16 << 20
)

// Said is one logged message. Before and After are the states around it.
type Said struct {
	User          bool
	Text          string
	Before, After string
	LatencyMS     *float64
	At            time.Time
}

// Turns returns how many messages of the user's the session has.
func (s *Session) Turns() int {
	n := 0
	for i := range s.Messages {
		if s.Messages[i].User {
			n++
		}
	}
	return n
}

// Side says which state of a turn counts: that before the user's message, or that after it.
type Side string

// The sides of a turn.
const (
	Before Side = "before"
	After  Side = "after"
)

// Check returns an error unless the side is one of the two.
func (s Side) Check() error {
	if s != After && s != Before {
		return source.Invalid("unknown --states %q: use after or before", s)
	}
	return nil
}

// States returns the states of the session's turns, in their order.
func (s *Session) States(side Side) []string {
	states := make([]string, 0, len(s.Messages))
	for i := range s.Messages {
		switch m := &s.Messages[i]; {
		case !m.User:
		case side == Before:
			states = append(states, m.Before)
		default:
			states = append(states, m.After)
		}
	}
	return states
}

// Known reports whether it is known how the session ended.
func (s *Session) Known() bool { return s.Completed || s.Dropped }

// Faults counts rows of a log that say nothing, or contradict themselves: never fatal, never silent.
type Faults struct {
	Counts map[string]int
	// Examples name the first events of each kind.
	Examples map[string][]string
}

// maxExamples bounds the events that are named of each fault.
const maxExamples = 5

func (f *Faults) note(e *Event, kind string) {
	if f.Counts == nil {
		f.Counts, f.Examples = map[string]int{}, map[string][]string{}
	}
	f.Counts[kind]++
	if len(f.Examples[kind]) < maxExamples {
		f.Examples[kind] = append(f.Examples[kind], e.ID)
	}
}

// countUnusable counts the rows of a store that belong to no session.
func (f *Faults) countUnusable(ctx context.Context, events Events, filter Filter) error {
	lossy, ok := events.(Lossy)
	if !ok {
		return nil
	}
	n, examples, err := lossy.Unusable(ctx, filter)
	if n > 0 {
		for _, id := range examples {
			f.note(&Event{ID: id}, "the row names no session or no time")
		}
		f.Counts["the row names no session or no time"] = n
	}
	return err
}

// Sessions groups events that come ordered by session and time. One session is in memory at a time. Faults are noted as they are met.
func Sessions(events iter.Seq2[Event, error], faults *Faults) iter.Seq2[*Session, error] {
	return func(yield func(*Session, error) bool) {
		var s *Session
		for e, err := range events {
			if err != nil {
				yield(nil, fmt.Errorf("read events: %w", err))
				return
			}
			if s == nil || s.ID != e.SessionID {
				if s != nil && !yield(s, nil) {
					return
				}
				s = &Session{ID: e.SessionID, FlowID: e.FlowID, Started: e.Time}
			}
			s.add(&e, faults)
		}
		if s != nil {
			yield(s, nil)
		}
	}
}

// payload is what events say.
type payload struct {
	Sender     string         `json:"sender"`
	Text       *string        `json:"message_text"`
	Transition bool           `json:"state_transition"`
	Next       *string        `json:"next_state"`
	Data       map[string]any `json:"data_collected"`
}

func (s *Session) add(e *Event, faults *Faults) {
	s.Ended = e.Time
	if s.UnitID == "" {
		s.UnitID = e.UnitID
	}
	if s.FlowID == "" {
		s.FlowID = e.FlowID
	}
	var p payload
	wrong := json.Unmarshal(orNull(e.Payload), &p) // what can be read of it stands in p all the same
	if wrong != nil {
		faults.note(e, "the payload cannot be read")
	}
	switch e.Type {
	case Message:
		if wrong == nil || p.Sender != "" {
			s.say(e, &p, faults)
		}
	case Completed:
		s.Completed = true
	case DroppedOff:
		s.Dropped = true
	}
	if p.Data != nil { // at whichever end it was logged
		s.Data = p.Data
	}
	if s.Completed && s.Dropped {
		faults.note(e, "the session is both completed and dropped")
		s.Dropped = false
	}
}

func (s *Session) say(e *Event, p *payload, faults *Faults) {
	if len(s.Messages) >= maxMessages {
		faults.note(e, "the session has too many messages; what follows is left out")
		return
	}
	if p.Sender != "user" && p.Sender != "bot" {
		faults.note(e, "the sender is neither user nor bot")
		return
	}
	var context struct {
		State string `json:"current_state"`
	}
	var metrics struct {
		Latency *float64 `json:"latency_ms"`
		Turn    int      `json:"turn_number"`
	}
	if errors.Join(json.Unmarshal(orNull(e.Context), &context), json.Unmarshal(orNull(e.Metrics), &metrics)) != nil {
		faults.note(e, "the context or the metrics cannot be read")
	}
	if metrics.Turn > 0 && metrics.Turn < s.turn {
		faults.note(e, "the clock goes back: the turn number is lower than that of an earlier message")
	}
	s.turn = max(s.turn, metrics.Turn)
	if s.Completed || s.Dropped {
		faults.note(e, "the message comes after the end of its session")
	}
	m := Said{User: p.Sender == "user", Before: context.State, After: context.State, LatencyMS: metrics.Latency, At: e.Time}
	if p.Text == nil {
		faults.note(e, "the message has no text")
	} else if s.text += len(*p.Text); s.text > maxText {
		faults.note(e, "the session has too much text; what this message says is left out")
	} else {
		m.Text = *p.Text
	}
	if p.Transition && p.Next != nil {
		m.After = *p.Next
	}
	s.Messages = append(s.Messages, m)
}
