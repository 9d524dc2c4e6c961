package importer

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

// message is one message, or what a row says of one, in any format. State is that before a turn, next that after it.
type message struct {
	eventID, eventType  string
	session, flow, unit string
	position            string // tells messages of a session apart; empty counts them
	at                  time.Time
	sender, text        string
	state, next         string
	turn, latency       *json.Number
	outcome             string
	data                json.RawMessage
}

// builder makes events of messages. A turn is held back until the next user's message of its session: its answers may
// come before it, and the first of them has the latency that the user's row gives.
type builder struct {
	o        *Options
	sessions map[string]*session
	// order has the sessions as they began. When there are so many, all turns that are held back are released.
	order     []string
	releaseAt int
}

// session is what is known of a session so far.
type session struct {
	flow, unit string
	messages   int
	last       time.Time
	held       []message // the user's message, and what the bot said to it
	outcome    string
	data       json.RawMessage
	started    bool
	// latest is the time of the latest message. Rows may come the newest first, so outcome and data count by their
	// time, not by their place in the file.
	latest, outcomeAt, dataAt time.Time
}

// maxHeld bounds the sessions whose last turn is held back, maxTurn the messages of a turn that are.
const (
	maxHeld = 50_000
	maxTurn = 1_000
)

func newBuilder(o *Options) *builder {
	return &builder{o: o, sessions: map[string]*session{}, releaseAt: maxHeld}
}

// begin says when a session began. Messages without a time follow it by a millisecond each.
func (b *builder) begin(id, flow, unit string, at time.Time) []replay.Event {
	s := b.session(id)
	s.learn(&message{flow: flow, unit: unit})
	if at.IsZero() || s.started {
		return nil
	}
	s.last, s.latest, s.started = at, at, true
	return []replay.Event{b.event(id, s, replay.Started, &message{position: "start", at: at}, map[string]any{})}
}

func (b *builder) session(id string) *session {
	s := b.sessions[id]
	if s == nil {
		s = &session{}
		b.sessions[id] = s
		b.order = append(b.order, id)
	}
	return s
}

func (s *session) learn(m *message) {
	if s.flow == "" {
		s.flow = m.flow
	}
	if s.unit == "" {
		s.unit = m.unit
	}
}

// add takes a message, and returns the events that are complete.
func (b *builder) add(m message) ([]replay.Event, error) {
	if m.session == "" {
		return nil, replay.BadRow(replay.NoSession, "it names no session")
	}
	user, known := replay.Speaker(m.sender)
	switch {
	case m.sender == "":
		return nil, replay.BadRow(replay.NoSender, "it does not say who has said it")
	case !known:
		return nil, replay.BadRow(replay.NoSender, "its sender %.40q is neither the user nor the bot", m.sender)
	}
	if err := m.checkOutcome(); err != nil {
		return nil, err
	}
	s := b.session(m.session)
	if m.at.IsZero() {
		switch {
		case !s.last.IsZero():
			m.at = s.last.Add(time.Millisecond)
		case !b.o.Date.IsZero():
			m.at = b.o.Date
		default:
			return nil, replay.BadRow(replay.NoTime, "it has no timestamp: give the day with --date")
		}
	}
	s.learn(&m)
	s.messages++
	s.last = m.at
	s.note(&m)
	if m.position == "" {
		m.position = "message " + strconv.Itoa(s.messages)
	}
	var events []replay.Event
	switch {
	case user && s.answers(&m):
		s.held = slices.Insert(s.held, 0, m)
	case user, s.before(&m), len(s.held) >= maxTurn:
		events = b.release(m.session, s)
		fallthrough
	default:
		s.held = append(s.held, m)
	}
	if len(b.order) >= b.releaseAt {
		b.releaseAt += maxHeld
		for _, id := range b.order {
			events = append(events, b.release(id, b.sessions[id])...)
		}
	}
	return events, nil
}

// answers reports whether what is held back are answers to a message: rows may come the newest first, so that it comes
// behind them.
func (s *session) answers(m *message) bool {
	for i := range s.held {
		if user, _ := replay.Speaker(s.held[i].sender); user || !s.held[i].at.After(m.at) {
			return false
		}
	}
	return len(s.held) > 0
}

// before reports whether an answer was given before the user's message that is held back, so that it belongs to an
// earlier turn.
func (s *session) before(m *message) bool {
	if len(s.held) == 0 {
		return false
	}
	user, _ := replay.Speaker(s.held[0].sender)
	return user && m.at.Before(s.held[0].at)
}

// note keeps what the latest row says of the end of a session; of rows of one time the last one counts.
func (s *session) note(m *message) {
	if m.at.After(s.latest) {
		s.latest = m.at
	}
	if m.outcome != "" && !m.at.Before(s.outcomeAt) {
		s.outcome, s.outcomeAt = m.outcome, m.at
	}
	if m.data != nil && !m.at.Before(s.dataAt) {
		s.data, s.dataAt = m.data, m.at
	}
}

// checkOutcome reads how a session ended; what is unknown is nothing.
func (m *message) checkOutcome() error {
	switch m.outcome = strings.ToLower(strings.TrimSpace(m.outcome)); m.outcome {
	case "", "completed", "dropped_off":
	case "unknown":
		m.outcome = ""
	default:
		return replay.BadRow(replay.BadField, "its outcome %.40q is neither completed nor dropped_off", m.outcome)
	}
	return nil
}

func jsonOf(v any) string {
	data, _ := json.Marshal(v) // of numbers and texts it cannot fail
	return string(data)
}

// release makes events of the turn that was held back. Each row has the states that it had in the log: which of them is
// the state after the turn is for the reader of the session to decide.
func (b *builder) release(id string, s *session) []replay.Event {
	if len(s.held) == 0 {
		return nil
	}
	var waited *json.Number
	for i := range s.held {
		if user, _ := replay.Speaker(s.held[i].sender); user && waited == nil {
			waited = s.held[i].latency
		}
	}
	var events []replay.Event
	for i := range s.held {
		m := &s.held[i]
		user, _ := replay.Speaker(m.sender)
		sender := "user"
		if !user {
			sender = "bot"
			if m.latency == nil {
				m.latency, waited = waited, nil
			}
		}
		payload := map[string]any{"sender": sender, "message_text": m.text}
		if m.next != "" {
			payload["state_transition"], payload["next_state"] = m.next != m.state, m.next
		}
		if m.data != nil {
			payload["data_collected"] = m.data
		}
		events = append(events, b.event(id, s, replay.Message, m, payload))
	}
	s.held = s.held[:0]
	return events
}

// end makes the rest of the events of all sessions: turns that were held back, and how sessions ended.
func (b *builder) end() []replay.Event {
	var events []replay.Event
	for _, id := range b.order {
		events = append(events, b.close(id)...)
	}
	b.sessions, b.order = map[string]*session{}, nil
	return events
}

func (b *builder) close(id string) []replay.Event {
	s := b.sessions[id]
	events := b.release(id, s)
	kinds := map[string]string{"completed": replay.Completed, "dropped_off": replay.DroppedOff}
	kind := kinds[s.outcome]
	if kind == "" {
		return events
	}
	payload := map[string]any{}
	if s.data != nil {
		payload["data_collected"] = s.data
	}
	return append(events, b.event(id, s, kind, &message{position: "end", at: s.latest, text: s.outcome}, payload))
}

// event makes an event. Its id is made of the session, the position and the content, so that the same row makes the
// same event again.
func (b *builder) event(id string, s *session, kind string, m *message, payload map[string]any) replay.Event {
	of := map[string]any{"session_id": id}
	flow := s.flow
	if flow == "" {
		flow = b.o.FlowID
	}
	if flow != "" {
		of["flow_id"] = flow
	}
	if m.state != "" {
		of["current_state"] = m.state
	}
	metrics := map[string]any{}
	if m.turn != nil {
		metrics["turn_number"] = m.turn
	}
	if m.latency != nil {
		metrics["latency_ms"] = m.latency
	}
	e := replay.Event{
		ID: m.eventID, Type: kind, UnitID: s.unit, SessionID: id, FlowID: flow, Time: m.at,
		Context: json.RawMessage(jsonOf(of)), Metrics: json.RawMessage(jsonOf(metrics)),
		Payload: json.RawMessage(jsonOf(payload)),
	}
	if s.unit != "" {
		e.UnitType = "user"
	}
	if e.ID == "" {
		sum := sha256.Sum256([]byte(jsonOf([]any{id, m.position, kind, payload["sender"], m.text})))
		e.ID = "imported-" + hex.EncodeToString(sum[:16])
	}
	return e
}
