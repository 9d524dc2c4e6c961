package importer

import (
	"bufio"
	"encoding/json"
	"iter"
	"time"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

// chatNames are the names under which a conversation has its fields, and turnNames those of its messages.
var (
	chatNames = map[string][]string{
		"session_id": {"session_id", "id"}, "flow_id": {"flow_id"}, "unit_id": {"unit_id", "user_id"},
		"timestamp": {"timestamp"},
		"outcome":   {"outcome"}, "data": {"data"},
	}
	turnNames = map[string][]string{
		"event_id": {"event_id"}, "message_id": {"message_id"}, "sender": {"role", "sender"},
		"text":      {"content", "message_text", "text"},
		"timestamp": {"timestamp"}, "state": {"state"},
		"next_state": {"next_state"}, "turn_number": {"turn_number"}, "latency_ms": {"latency_ms"},
	}
)

// readChats reads a conversation from each line.
func readChats(r *bufio.Reader, o *Options) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		for v, err := range objects(r) {
			if err != nil {
				yield(row{}, err)
				return
			}
			of := row{rejected: v.rejected}
			if v.rejected.Kind == "" {
				events, err := chatEvents(v.object, o)
				if of.events = events; err != nil {
					of = row{rejected: replay.NewReject(v.line, err)}
				}
			}
			if !yield(of, nil) {
				return
			}
		}
	}
}

// chatEvents makes the events of a conversation: all of them or none.
func chatEvents(o object, options *Options) ([]replay.Event, error) {
	of, within := lookup{options.Map, chatNames}, lookup{nil, turnNames}
	var head message
	if err := of.measure(o, &head); err != nil {
		return nil, err
	}
	head.session, head.flow, head.unit = of.text(o, "session_id"), of.text(o, "flow_id"), of.text(o, "unit_id")
	if head.session == "" {
		return nil, replay.BadRow(replay.NoSession, "it names no session")
	}
	list, is := o["messages"].([]any)
	if !is {
		return nil, replay.BadRow(replay.BadField, "its messages are no list")
	}
	b := newBuilder(options)
	at := head.at
	if at.IsZero() && !timed(list) {
		at = options.Date
	}
	events := b.begin(head.session, head.flow, head.unit, at)
	said, err := b.messages(within, head, list)
	if err != nil {
		return nil, err
	}
	if head.outcome = of.text(o, "outcome"); head.outcome != "" {
		head.at = time.Time{} // it ended with its last message
		if made := b.outcome(0, head); made.rejected.Kind != "" {
			return nil, replay.BadRow(made.rejected.Kind, "%s", made.rejected.Reason)
		}
	}
	return append(append(events, said...), b.end()...), nil
}

// messages takes the messages of a conversation. The first that cannot be read is named by its place.
func (b *builder) messages(l lookup, head message, list []any) ([]replay.Event, error) {
	var events []replay.Event
	for i, item := range list {
		o, is := item.(object)
		if !is {
			return nil, replay.BadRow(replay.BadField, "its message %d is no object", i+1)
		}
		m, _, err := readMessage(l, o)
		if err == nil {
			if replay.RoleOf(m.sender) == replay.RoleNone {
				continue
			}
			m.session, m.flow, m.unit = head.session, head.flow, head.unit
			var more []replay.Event
			more, err = b.add(m)
			events = append(events, more...)
		}
		if err != nil {
			reject := replay.NewReject(0, err)
			return nil, replay.BadRow(reject.Kind, "its message %d: %s", i+1, reject.Reason)
		}
	}
	if held := b.session(head.session).held; head.data != nil && len(held) > 0 {
		held[len(held)-1].data = head.data // the last message is still held back
	}
	return events, nil
}

// timed reports whether a message has a time.
func timed(list []any) bool {
	for _, item := range list {
		if o, is := item.(object); is && textOf(o["timestamp"]) != "" {
			return true
		}
	}
	return false
}

// durationOf is a latency in milliseconds.
func durationOf(ms *json.Number) time.Duration {
	if ms == nil {
		return 0
	}
	n, err := ms.Float64()
	if err != nil || n < 0 || n > 1e12 {
		return 0
	}
	return time.Duration(n * float64(time.Millisecond))
}
