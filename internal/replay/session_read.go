package replay

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"math"
	"slices"
	"strings"
	"time"
)

// DefaultSessionGap is the time after the end of a session from which on its id is that of another session.
const DefaultSessionGap = 24 * time.Hour

// NoSessionGap leaves all events of a session id in one session.
const NoSessionGap = time.Duration(math.MaxInt64)

// Sessions groups events that come ordered by session and time. One session is in memory at a time. The faults of a
// session are counted before it is yielded. A session id that continues a gap after an end begins another session; 0
// is DefaultSessionGap.
func Sessions(events iter.Seq2[Event, error], gap time.Duration, faults *Faults) iter.Seq2[*Session, error] {
	return func(yield func(*Session, error) bool) {
		for s, err := range bySession(events, gap, time.Time{}, time.Time{}, nil) {
			if err == nil {
				faults.add(&s.faults)
			}
			if !yield(s, err) {
				return
			}
		}
	}
}

// bySession groups events into sessions, and notes which have an event between two times, to being excluded. It
// gives them the values of the fields in slices.
func bySession(
	events iter.Seq2[Event, error], gap time.Duration, from, to time.Time, slices []string,
) iter.Seq2[*Session, error] {
	gap = cmp.Or(gap, DefaultSessionGap)
	return func(yield func(*Session, error) bool) {
		var s *Session
		var seen deliveries
		logged := "" // the session id of the events
		for e, err := range events {
			if err != nil {
				yield(nil, fmt.Errorf("read events: %w", err))
				return
			}
			var p payload
			wrong := json.Unmarshal(orNull(e.Payload), &p) // what can be read of it is in p all the same
			switch {
			case s == nil || logged != e.SessionID:
				if s != nil && !yield(s.readStates(), nil) {
					return
				}
				logged, seen = e.SessionID, deliveries{}
				s = &Session{ID: firstID(logged, e.Time), Started: e.Time}
				seen.repeats(&e, &p)
			case seen.repeats(&e, &p):
				s.faults.note(faultRedelivered, 1, e.ID)
				continue
			case s.over(&e, gap):
				last := s.readStates()
				if !yield(last, nil) {
					return
				}
				s = &Session{ID: partID(logged, e.Time), Started: e.Time, UnitID: last.UnitID, earlier: last.flows}
			}
			s.inside = s.inside || !e.Time.Before(from) && (to.IsZero() || e.Time.Before(to))
			s.add(&e, &p, wrong)
			s.slice(&e, slices)
		}
		if s != nil {
			yield(s.readStates(), nil)
		}
	}
}

// over reports whether an event that comes after the end of the session begins another one. How a session ended may be
// logged at any time.
func (s *Session) over(e *Event, gap time.Duration) bool {
	return s.Known() && (e.Type == Started || e.Type == Message) && e.Time.Sub(s.end) >= gap
}

// partTime is the layout of the time in the id of a part. Its order is that of the times.
const partTime = "@2006-01-02T15:04:05.000000Z"

// partID is the id of a session that is not the first one of its id in the log. It is made of its own first event, so
// that it stays the same whatever else the log gets.
func partID(logged string, started time.Time) string { return logged + started.UTC().Format(partTime) }

// firstID is the id of the first session of an id in the log: the same, unless it looks like that of a part.
func firstID(logged string, started time.Time) string {
	if LoggedID(logged) != logged {
		return partID(logged, started)
	}
	return logged
}

// LoggedID returns the id that the events of a session have, which several sessions may share (Sessions).
func LoggedID(session string) string {
	if at := strings.LastIndexByte(session, '@'); at > 0 {
		if t, err := time.Parse(partTime, session[at:]); err == nil && t.Format(partTime) == session[at:] {
			return session[:at]
		}
	}
	return session
}

// deliveries are the messages of a session id that have an id of their provider.
type deliveries map[uint64]struct{}

// deliverySeed makes the hashes of deliveries.
var deliverySeed = maphash.MakeSeed()

// maxDeliveries bounds the messages of a session id that are remembered.
const maxDeliveries = 1 << 20

// repeats reports whether a message was delivered before: the same side has sent one with the same id.
func (d deliveries) repeats(e *Event, p *payload) bool {
	if id := string(p.Delivery); e.Type != Message || id == "" || id == "null" || id == `""` {
		return false
	}
	of := maphash.String(deliverySeed, RoleOf(cmp.Or(p.Sender, p.Role))+" "+string(p.Delivery))
	_, known := d[of]
	if !known && len(d) < maxDeliveries {
		d[of] = struct{}{}
	}
	return known
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
	// Delivery is the id that the provider of messages gave this one.
	Delivery json.RawMessage `json:"message_id"`
}

// add adds an event with its payload, which was read except for what is wrong.
func (s *Session) add(e *Event, p *payload, wrong error) {
	s.Ended = e.Time
	if s.UnitID == "" {
		s.UnitID = e.UnitID
	}
	if e.FlowID != "" && len(s.flows) < maxFlows && !slices.Contains(s.flows, e.FlowID) {
		s.flows = append(s.flows, e.FlowID)
		s.FlowID = s.flows[0]
	}
	if wrong != nil {
		s.faults.note(faultPayload, 1, e.ID)
	}
	switch e.Type {
	case Message:
		if wrong == nil || p.Sender != "" || p.Role != "" {
			s.say(e, p)
		}
	case Completed:
		s.Completed, s.end = true, e.Time
		s.final = cmp.Or(p.Final, s.final)
	case DroppedOff:
		s.Dropped, s.end = true, e.Time
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

// The roles of messages. A log has many names for them.
const (
	RoleUser = "user"
	RoleBot  = "bot"
	// RoleOther is neither of the two, such as a person who takes over from the bot.
	RoleOther = "other"
	// RoleNone has no part in the conversation. Imports skip such messages.
	RoleNone = ""
)

// RoleOf returns the role of a sender.
func RoleOf(sender string) string {
	switch strings.ToLower(strings.TrimSpace(sender)) {
	case "user", "human", "customer":
		return RoleUser
	case "bot", "assistant", "ai", "agent":
		return RoleBot
	case "system", "tool", "developer":
		return RoleNone
	}
	return RoleOther
}

func (s *Session) say(e *Event, p *payload) {
	if len(s.Messages) >= maxMessages {
		s.faults.note(faultTooMany, 1, e.ID)
		return
	}
	role := RoleOf(cmp.Or(p.Sender, p.Role))
	if role != RoleUser && role != RoleBot {
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
	m := LoggedMessage{User: role == RoleUser, LatencyMS: metrics.Latency, At: e.Time, logged: p.states(context.State)}
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
