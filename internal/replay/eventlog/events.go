// Package eventlog tells what visitors and chatbots have said to each other as logged events, so that what happened
// yesterday can be replayed today. Events are made of what a session has kept: whoever makes them again makes the same
// ones.
package eventlog

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sessionindex"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// Idle is how long a visitor says nothing before they count as gone.
const Idle = 30 * time.Minute

// start is the state before the first turn.
const start = "START"

// Events returns what happened in a session so far, as of a time: all turns, and that the visitor has left.
func Events(s *sitebot.Session, now time.Time) ([]replay.Event, error) {
	var turns []sitebot.SessionTurn
	before := ""
	for i, t := range s.Turns {
		if t.Note == nil { // it was injected: its texts are known, and the rest is made up of its place
			at := s.Row.Started.Add(time.Duration(i) * time.Millisecond)
			t.Note = &sessionindex.Turn{Number: t.Number, Started: at, At: at, Before: before}
		}
		before = t.Note.Route
		turns = append(turns, t)
	}
	events, err := eventsOf(s, turns, true)
	if err == nil && len(turns) > 0 && Gone(&s.Row, now) {
		events, err = with(events, left(s, &turns[len(turns)-1]))
	}
	return events, err
}

// Gone reports whether the visitor has left without a conversion.
func Gone(r *sessionindex.Row, now time.Time) bool {
	return r.Outcome != sessionindex.Converted && !r.Last.After(now.Add(-Idle))
}

// eventsOf makes events of turns that were noted; begun says that the first of them begins the conversation.
func eventsOf(s *sitebot.Session, turns []sitebot.SessionTurn, begun bool) (events []replay.Event, err error) {
	for i := range turns {
		t := &turns[i]
		happened := []happening{messageEvent(t, true), messageEvent(t, false)}
		if begun && i == 0 {
			first := happening{kind: replay.Started, at: t.Note.Started, state: start, payload: map[string]any{}}
			happened = append([]happening{first}, happened...)
		}
		if t.Note.Converted {
			happened = append(happened, happening{
				kind: replay.Completed, at: t.Note.At, state: before(t), payload: map[string]any{
					"completion_reason": "converted", "final_state": t.Route, "data_collected": filled(t.Note.Values),
				},
			})
		}
		for _, h := range happened {
			if events, err = with(events, h.of(s, t)); err != nil {
				return nil, err
			}
		}
	}
	return events, nil
}

// made is an event, or why it could not be written.
type made struct {
	event replay.Event
	err   error
}

func with(events []replay.Event, m made) ([]replay.Event, error) {
	return append(events, m.event), m.err
}

func filled(values map[string]string) map[string]string {
	if values == nil {
		return map[string]string{}
	}
	return values
}

// before is the state before a turn.
func before(t *sitebot.SessionTurn) string { return cmp.Or(t.Note.Before, start) }

// happening is what one event says.
type happening struct {
	kind, sender string
	at           time.Time
	state        string
	metrics      map[string]any
	payload      map[string]any
}

// messageEvent is a message of a turn: the visitor's, or the answer.
func messageEvent(t *sitebot.SessionTurn, user bool) happening {
	h := happening{
		kind: replay.Message, sender: "bot", at: t.Note.At, state: before(t), metrics: map[string]any{},
		payload: map[string]any{
			"sender": "bot", "message_text": t.Response, "state_transition": t.Route != "" && t.Route != before(t),
		},
	}
	if t.Route != "" {
		h.payload["next_state"] = t.Route
	}
	if user {
		h.sender, h.at = "user", t.Note.Started
		h.payload["sender"], h.payload["message_text"] = "user", t.Input
		return h
	}
	if h.metrics["latency_ms"] = t.Note.Latency; t.Note.Tokens > 0 {
		h.metrics["token_count"] = t.Note.Tokens
	}
	return h
}

// left is the event of a visitor who has said nothing for a while after a turn.
func left(s *sitebot.Session, t *sitebot.SessionTurn) made {
	h := happening{
		kind: replay.DroppedOff, at: s.Row.Last.Add(Idle), state: cmp.Or(t.Route, start), payload: map[string]any{
			"drop_off_reason": "idle", "last_active_state": cmp.Or(t.Route, start),
		},
	}
	return h.of(s, t)
}

// of makes the event of a turn. Its id is made of the session, the turn as it was saved and the kind: the same in every
// process, and another for a turn that was injected in its place.
func (h happening) of(s *sitebot.Session, t *sitebot.SessionTurn) made {
	what, err := json.Marshal([]any{s.Row.Site, s.Row.Session, t.Number, t.Note.Checkpoint, h.kind, h.sender})
	if err != nil {
		return made{err: err}
	}
	sum := sha256.Sum256(what)
	metrics := map[string]any{"turn_number": t.Number}
	maps.Copy(metrics, h.metrics)
	e := replay.Event{
		ID: hex.EncodeToString(sum[:16]), Type: h.kind, UnitType: "user", UnitID: t.Note.Person, Time: h.at,
		SessionID: s.Row.Session, FlowID: s.Row.Site,
	}
	if e.Context, err = json.Marshal(map[string]string{
		"session_id": s.Row.Session, "flow_id": s.Row.Site, "current_state": h.state,
	}); err != nil {
		return made{err: err}
	}
	if e.Metrics, err = json.Marshal(metrics); err != nil {
		return made{err: err}
	}
	if e.Payload, err = json.Marshal(h.payload); err != nil {
		return made{err: fmt.Errorf("an event of the session %q: %w", s.Row.Session, err)}
	}
	return made{event: e}
}
