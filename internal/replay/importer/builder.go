package importer

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

// message is one message, or what a row says of one, in any format. State is that before a turn, next that after it.
type message struct {
	eventID, eventType  string
	session, flow, unit string
	position            string // the id of a message in a format that has one; else its content counts
	delivery            string // the id that the provider of messages gave this one
	at                  time.Time
	dated               bool // at is the row's own
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
	// made are the events whose ids come from their content, by a hash; repeats counts those of the same content.
	made    map[uint64]struct{}
	repeats map[uint64]int
	// order has the sessions as they began. When there are so many, all turns that are held back are released.
	order     []string
	releaseAt int
}

// session is what is known of a session so far.
type session struct {
	flow, unit string
	begun      time.Time // when it began, where the format has that
	last       time.Time
	held       []message // the user's message, and what the bot said to it
	started    bool
	// stretches are the conversations, in their order, which lie a gap apart.
	stretches []stretch
}

// stretch is a conversation of a session. Rows may come the newest first, so outcome and data count by their time, not
// by their place in the file.
type stretch struct {
	first, last, outcomeAt, dataAt time.Time
	outcome                        string
	data                           json.RawMessage
}

// maxHeld bounds the sessions whose last turn is held back, maxTurn the messages of a turn that are.
const (
	maxHeld = 50_000
	maxTurn = 1_000
)

func newBuilder(o *Options) *builder {
	return &builder{
		o: o, sessions: map[string]*session{}, made: map[uint64]struct{}{}, repeats: map[uint64]int{},
		releaseAt: maxHeld,
	}
}

// begin says when a session began. Messages without a time follow it by a millisecond each.
func (b *builder) begin(id, flow, unit string, at time.Time) []replay.Event {
	s := b.session(id)
	s.learn(&message{flow: flow, unit: unit})
	if at.IsZero() || s.started {
		return nil
	}
	s.last, s.begun, s.started = at, at, true
	s.note(&message{at: at}, b.o.gap())
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
	if m.sender == "" {
		return nil, replay.BadRow(replay.NoSender, "it does not say who has said it")
	}
	if err := m.checkOutcome(); err != nil {
		return nil, err
	}
	s := b.session(m.session)
	if m.dated = !m.at.IsZero(); !m.dated {
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
	s.last = m.at
	s.note(&m, b.o.gap())
	var events []replay.Event
	switch user := m.user(); {
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
		if s.held[i].user() || !s.held[i].at.After(m.at) {
			return false
		}
	}
	return len(s.held) > 0
}

// before reports whether an answer was given before the user's message that is held back, so that it belongs to an
// earlier turn.
func (s *session) before(m *message) bool {
	return len(s.held) > 0 && s.held[0].user() && m.at.Before(s.held[0].at)
}

// note stores what a row has of the end of its conversation; of rows of one time the last one counts. Conversations
// that it connects become one.
func (s *session) note(m *message, gap time.Duration) {
	from := slices.IndexFunc(s.stretches, func(c stretch) bool { return m.at.Sub(c.last) < gap })
	if from < 0 {
		from = len(s.stretches)
	}
	to := from
	of := stretch{first: m.at, last: m.at}
	for ; to < len(s.stretches) && s.stretches[to].first.Sub(m.at) < gap; to++ {
		of.join(&s.stretches[to])
	}
	if m.outcome != "" && !m.at.Before(of.outcomeAt) {
		of.outcome, of.outcomeAt = m.outcome, m.at
	}
	if m.data != nil && !m.at.Before(of.dataAt) {
		of.data, of.dataAt = m.data, m.at
	}
	s.stretches = slices.Replace(s.stretches, from, to, of)
}

// join makes one conversation of two.
func (c *stretch) join(with *stretch) {
	if with.first.Before(c.first) {
		c.first = with.first
	}
	if with.last.After(c.last) {
		c.last = with.last
	}
	if !with.outcomeAt.Before(c.outcomeAt) {
		c.outcome, c.outcomeAt = with.outcome, with.outcomeAt
	}
	if !with.dataAt.Before(c.dataAt) {
		c.data, c.dataAt = with.data, with.dataAt
	}
}

// user reports whether the user has sent a message.
func (m *message) user() bool { return replay.RoleOf(m.sender) == replay.RoleUser }

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
		if s.held[i].user() && waited == nil {
			waited = s.held[i].latency
		}
	}
	var events []replay.Event
	for i := range s.held {
		m := &s.held[i]
		role := replay.RoleOf(m.sender)
		if role == replay.RoleBot && m.latency == nil {
			m.latency, waited = waited, nil
		}
		payload := map[string]any{"sender": role, "message_text": m.text}
		if role == replay.RoleOther {
			payload["role"] = m.sender
		}
		if m.delivery != "" {
			payload["message_id"] = m.delivery
		}
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
	for _, c := range s.stretches {
		kind := kinds[c.outcome]
		if kind == "" {
			continue
		}
		payload := map[string]any{}
		if c.data != nil {
			payload["data_collected"] = c.data
		}
		end := &message{position: "end", at: c.last, text: c.outcome}
		events = append(events, b.event(id, s, kind, end, payload))
	}
	return events
}

// event makes an event.
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
		e.ID = b.id(s, &e, m, payload["sender"])
	}
	return e
}

// id makes the id of an event, so that the same row makes the same event again wherever it is in a later export: of the
// session, the text and the time, and of the row's position where the format names one. Events that are alike in all of
// these are counted.
func (b *builder) id(s *session, e *replay.Event, m *message, sender any) string {
	of := []any{e.SessionID, m.position, e.Type, sender, m.text}
	switch {
	case e.Type != replay.Message || m.dated && m.position == "":
		of = append(of, e.Time.UnixMicro())
	case m.position == "" && !s.begun.IsZero():
		of = append(of, s.begun.UnixMicro())
	}
	sum := sha256.Sum256([]byte(jsonOf(of)))
	if hash := binary.LittleEndian.Uint64(sum[:]); m.position == "" {
		if _, again := b.made[hash]; again {
			b.repeats[hash]++
			sum = sha256.Sum256([]byte(jsonOf(append(of, b.repeats[hash]))))
		}
		b.made[hash] = struct{}{}
	}
	return "imported-" + hex.EncodeToString(sum[:16])
}
