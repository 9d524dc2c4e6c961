package replay

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"
)

// Sessions groups events that come ordered by session and time. One session is in memory at a time. The faults of a
// session are counted before it is yielded.
func Sessions(events iter.Seq2[Event, error], faults *Faults) iter.Seq2[*Session, error] {
	return func(yield func(*Session, error) bool) {
		for s, err := range bySession(events, time.Time{}, time.Time{}, nil) {
			if err == nil {
				faults.add(&s.faults)
			}
			if !yield(s, err) {
				return
			}
		}
	}
}

// bySession groups events into sessions, and notes which have an event between two times, to being excluded. It gives
// them the values of the fields in slices.
func bySession(events iter.Seq2[Event, error], from, to time.Time, slices []string) iter.Seq2[*Session, error] {
	return func(yield func(*Session, error) bool) {
		var s *Session
		for e, err := range events {
			if err != nil {
				yield(nil, fmt.Errorf("read events: %w", err))
				return
			}
			if s == nil || s.ID != e.SessionID {
				if s != nil && !yield(s.readStates(), nil) {
					return
				}
				s = &Session{ID: e.SessionID, Started: e.Time}
			}
			s.inside = s.inside || !e.Time.Before(from) && (to.IsZero() || e.Time.Before(to))
			s.add(&e)
			s.slice(&e, slices)
		}
		if s != nil {
			yield(s.readStates(), nil)
		}
	}
}

// maxFlows bounds the flows of a session that are told apart.
const maxFlows = 100

// payload is what events say.
type payload struct {
	Sender     string         `json:"sender"`
	Role       string         `json:"role"`
	Text       *string        `json:"message_text"`
	Content    *string        `json:"content"`
	Transition *bool          `json:"state_transition"`
	Next       string         `json:"next_state"`
	Final      string         `json:"final_state"`
	LastActive string         `json:"last_active_state"`
	Data       map[string]any `json:"data_collected"`
}

func (s *Session) add(e *Event) {
	s.Ended = e.Time
	if s.UnitID == "" {
		s.UnitID = e.UnitID
	}
	if e.FlowID != "" && len(s.flows) < maxFlows && !slices.Contains(s.flows, e.FlowID) {
		s.flows = append(s.flows, e.FlowID)
		s.FlowID = s.flows[0]
	}
	var p payload
	wrong := json.Unmarshal(orNull(e.Payload), &p) // what can be read of it stands in p all the same
	if wrong != nil {
		s.faults.note(faultPayload, 1, e.ID)
	}
	switch e.Type {
	case Message:
		if wrong == nil || p.Sender != "" || p.Role != "" {
			s.say(e, &p)
		}
	case Completed:
		s.Completed = true
		s.final = cmp.Or(p.Final, s.final)
	case DroppedOff:
		s.Dropped = true
		s.final = cmp.Or(s.final, p.LastActive, p.Final)
	}
	if p.Data != nil { // at whichever end it was logged
		s.Data = p.Data
	}
	if s.Completed && s.Dropped {
		s.faults.note(faultBothEnds, 1, e.ID)
		s.Dropped = false
	}
}

// Speaker says who a sender is: the user or the bot, in any of the names that logs have for them; any other is not
// known.
func Speaker(name string) (user, known bool) {
	switch strings.ToLower(strings.TrimSpace(name)) {
	case "user", "human", "customer":
		return true, true
	case "bot", "assistant", "ai", "agent":
		return false, true
	}
	return false, false
}

func (s *Session) say(e *Event, p *payload) {
	if len(s.Messages) >= maxMessages {
		s.faults.note(faultTooMany, 1, e.ID)
		return
	}
	name := p.Sender
	if name == "" {
		name = p.Role
	}
	user, known := Speaker(name)
	if !known {
		s.faults.note(faultSender, 1, e.ID)
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
		s.faults.note(faultContext, 1, e.ID)
	}
	if metrics.Latency != nil && *metrics.Latency < 0 {
		s.faults.note(faultLatency, 1, e.ID)
		metrics.Latency = nil
	}
	if metrics.Turn > 0 && metrics.Turn < s.turn {
		s.faults.note(faultClockBack, 1, e.ID)
	}
	s.turn = max(s.turn, metrics.Turn)
	if s.Completed || s.Dropped {
		s.faults.note(faultAfterEnd, 1, e.ID)
	}
	m := LoggedMessage{User: user, LatencyMS: metrics.Latency, At: e.Time, logged: p.states(context.State)}
	text := p.Text
	if text == nil {
		text = p.Content
	}
	if text == nil {
		s.faults.note(faultNoText, 1, e.ID)
	} else if s.text += len(*text); s.text > maxText {
		s.faults.note(faultTooMuchText, 1, e.ID)
	} else {
		m.Text = *text
	}
	s.Messages = append(s.Messages, m)
}
