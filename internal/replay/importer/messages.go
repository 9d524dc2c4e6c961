package importer

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

// messageNames are the names under which a table of messages has its fields.
var messageNames = map[string][]string{
	"event_id": {"event_id"}, "event_type": {"event_type"},
	"session_id": {"session_id", "conversation_id", "context.session_id"}, "flow_id": {"flow_id", "context.flow_id"},
	"unit_id":   {"unit_id", "user_id"},
	"timestamp": {"timestamp", "time", "created_at"}, "sender": {"sender", "role", "payload.sender", "payload.role"},
	"message_id":  {"message_id", "payload.message_id"},
	"text":        {"text", "message_text", "content", "message", "payload.message_text", "payload.content"},
	"reply":       {"reply"},
	"state":       {"state", "current_state", "context.current_state"},
	"next_state":  {"next_state", "payload.next_state"},
	"turn_number": {"turn_number", "metrics.turn_number"}, "latency_ms": {"latency_ms", "metrics.latency_ms"},
	"outcome": {"outcome"}, "data": {"data", "payload.data_collected"},
}

// readMessages reads a message, or a turn with its reply, from each row of a table or of JSON Lines.
func readMessages(r *bufio.Reader, o *Options) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		b, l := newBuilder(o), lookup{o.Map, messageNames}
		for v, err := range objects(r) {
			if err != nil {
				yield(row{}, err)
				return
			}
			of := row{rejected: v.rejected}
			if v.rejected.Kind == "" {
				of = b.message(l, v)
			}
			if !yield(of, nil) {
				return
			}
		}
		yield(row{events: b.end(), rest: true}, nil)
	}
}

// message makes of a row what it says.
func (b *builder) message(l lookup, v cells) row {
	m, reply, err := readMessage(l, v.object)
	switch {
	case err != nil:
		return row{rejected: replay.NewReject(v.line, err)}
	case m.eventType != "" && m.eventType != replay.Message:
		return b.other(v.line, m)
	case reply == nil && replay.RoleOf(m.sender) == replay.RoleNone:
		return row{passedOver: true}
	case reply == nil && m.sender == "" && m.text == "" && m.outcome != "":
		return b.outcome(v.line, m)
	}
	if reply == nil {
		events, err := b.add(m)
		if err != nil {
			return row{events: events, rejected: replay.NewReject(v.line, err)}
		}
		return row{events: events}
	}
	return b.turn(v.line, m, *reply)
}

// turn takes a user's message with the bot's answer. The states around the turn stand with the message, the outcome and
// the latency with the answer.
func (b *builder) turn(line int, m message, reply string) row {
	m.sender = "user"
	answer := m
	answer.sender, answer.text, answer.position, answer.eventID = "bot", reply, "", ""
	answer.state, answer.next = "", ""
	if m.position != "" {
		answer.position = m.position + " reply"
	}
	if m.eventID != "" {
		answer.eventID = m.eventID + "#reply"
	}
	if reply != "" {
		m.latency, m.outcome, m.data = nil, "", nil
	}
	if !m.at.IsZero() {
		answer.at = m.at.Add(durationOf(answer.latency))
	}
	events, err := b.add(m)
	if err == nil && reply != "" {
		var more []replay.Event
		more, err = b.add(answer)
		events = append(events, more...)
	}
	if err != nil {
		return row{events: events, rejected: replay.NewReject(line, err)}
	}
	return row{events: events}
}

// outcome takes a row that only says how its session ended.
func (b *builder) outcome(line int, m message) row {
	if m.session == "" {
		return row{rejected: replay.Reject{Line: line, Kind: replay.NoSession, Reason: "it names no session"}}
	}
	if err := m.checkOutcome(); err != nil {
		return row{rejected: replay.NewReject(line, err)}
	}
	s := b.session(m.session)
	s.learn(&m)
	if n := len(s.stretches); n > 0 && m.at.IsZero() {
		m.at = s.stretches[n-1].last
	}
	if m.at.IsZero() {
		return row{rejected: replay.Reject{
			Line: line, Kind: replay.NoTime, Reason: "it has no timestamp: give the day with --date",
		}}
	}
	s.note(&m, b.o.gap())
	return row{}
}

// other takes an event that is no message.
func (b *builder) other(line int, m message) row {
	s := &session{flow: m.flow, unit: m.unit}
	if m.session != "" && b.sessions[m.session] != nil {
		s = b.sessions[m.session]
		s.learn(&m)
	}
	switch {
	case m.session == "":
		return row{rejected: replay.Reject{Line: line, Kind: replay.NoSession, Reason: "it names no session"}}
	case m.at.IsZero():
		return row{rejected: replay.Reject{Line: line, Kind: replay.NoTime, Reason: "it has no timestamp"}}
	}
	payload := map[string]any{}
	if m.data != nil {
		payload["data_collected"] = m.data
	}
	m.position = m.eventType + " " + m.at.UTC().String()
	events := b.release(m.session, s)
	return row{events: append(events, b.event(m.session, s, m.eventType, &m, payload))}
}

// readMessage reads the fields of a row; reply is nil where it has none.
func readMessage(l lookup, o object) (m message, reply *string, err error) {
	m = message{
		eventID: l.text(o, "event_id"), eventType: l.text(o, "event_type"), session: l.text(o, "session_id"),
		flow: l.text(o, "flow_id"), unit: l.text(o, "unit_id"), sender: l.text(o, "sender"), state: l.text(o, "state"),
		next: l.text(o, "next_state"), outcome: l.text(o, "outcome"), delivery: l.text(o, "message_id"),
	}
	m.text, err = l.message(o, "text")
	if m.sender == "" && l.has(o, "reply") && err == nil {
		var text string
		text, err = l.message(o, "reply")
		reply = &text
	}
	return m, reply, errors.Join(err, l.measure(o, &m))
}

// message returns a field that is said: a text, or a list of parts.
func (l lookup) message(o object, field string) (string, error) {
	v := l.value(o, field)
	if v == nil {
		return "", nil
	}
	text, ok := content(v)
	if !ok {
		if _, number := v.(json.Number); !number {
			return "", replay.BadRow(replay.BadField, "its %s is no text", field)
		}
		text = textOf(v)
	}
	return text, nil
}

// measure reads what is not text: time, numbers and data.
func (l lookup) measure(o object, m *message) (err error) {
	if m.at, err = l.time(o, "timestamp"); err != nil {
		return err
	}
	if m.turn, err = l.number(o, "turn_number"); err != nil {
		return err
	}
	if m.latency, err = l.number(o, "latency_ms"); err != nil {
		return err
	}
	m.data, err = l.object(o, "data")
	return err
}

// cells is a row of a table, or of JSON.
type cells struct {
	line     int
	object   object
	rejected replay.Reject
}

// objects yields the rows of JSON, or of a table whose first row names the columns.
func objects(r *bufio.Reader) iter.Seq2[cells, error] {
	begin, _ := r.Peek(looked) // an error comes again when it is read
	text := strings.TrimSpace(strings.TrimPrefix(string(begin), "\ufeff"))
	if text != "" && text[0] != '{' && text[0] != '[' {
		return tableRows(r)
	}
	return func(yield func(cells, error) bool) {
		for v, err := range values(r) {
			of := cells{line: v.line, rejected: v.rejected}
			if err == nil && v.rejected.Kind == "" {
				var wrong error
				if of.object, wrong = decode(v.raw); wrong != nil {
					of.rejected = replay.NewReject(v.line, wrong)
				}
			}
			if !yield(of, err) || err != nil {
				return
			}
		}
	}
}

func tableRows(r io.Reader) iter.Seq2[cells, error] {
	return func(yield func(cells, error) bool) {
		table := replay.TableReader(r)
		head, err := table.Read()
		if err != nil {
			yield(cells{}, fmt.Errorf("the first row, which names the columns: %w", err))
			return
		}
		for i, name := range head {
			head[i] = strings.TrimSpace(name)
		}
		for {
			record, err := table.Read()
			if errors.Is(err, io.EOF) {
				return
			}
			of := cells{object: object{}}
			if problem, is := errors.AsType[*csv.ParseError](err); is {
				of.line = problem.StartLine
				of.rejected = replay.Reject{Line: of.line, Kind: replay.BadField, Reason: problem.Err.Error()}
				err = nil
			} else if err == nil {
				of.line, _ = table.FieldPos(0)
			}
			for i, cell := range record {
				if i < len(head) {
					of.object[head[i]] = cell
				}
			}
			if !yield(of, err) || err != nil {
				return
			}
		}
	}
}
