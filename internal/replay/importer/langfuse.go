package importer

import (
	"bufio"
	"encoding/json"
	"iter"
	"math"
	"slices"
	"strconv"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

// traceNames are the names of Langfuse's public API for traces (https://api.reference.langfuse.com).
var traceNames = map[string][]string{
	"event_id": {}, "session_id": {"sessionId"}, "flow_id": {"metadata.flow_id"}, "unit_id": {"userId"},
	"timestamp": {"timestamp"}, "state": {"metadata.state"},
	"next_state": {"metadata.next_state"}, "turn_number": {"metadata.turn_number"}, "outcome": {"metadata.outcome"},
	"data": {"metadata.data"},
	"text": {"input"}, "reply": {"output"},
}

// askedKeys are the keys of an object under which the user's message may stand, repliedKeys those of the answer.
var (
	askedKeys   = []string{"input", "question", "message", "text", "content"}
	repliedKeys = []string{"output", "answer", "reply", "response", "message", "text", "content"}
)

// readTraces reads a turn from each trace of Langfuse.
func readTraces(r *bufio.Reader, o *Options) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		b := newBuilder(o)
		for v, err := range objects(r) {
			if err != nil {
				yield(row{}, err)
				return
			}
			of := row{rejected: v.rejected}
			if v.rejected.Kind == "" {
				of = b.trace(lookup{o.Map, traceNames}, v)
			}
			if !yield(of, nil) {
				return
			}
		}
		yield(row{events: b.end(), rest: true}, nil)
	}
}

// trace makes a turn of a trace; one in which nobody says anything is passed over.
func (b *builder) trace(l lookup, v cells) row {
	m := message{
		session: l.text(v.object, "session_id"), flow: l.text(v.object, "flow_id"), unit: l.text(v.object, "unit_id"),
		state: l.text(v.object, "state"), next: l.text(v.object, "next_state"), outcome: l.text(v.object, "outcome"),
	}
	var err error
	if m.at, err = l.time(v.object, "timestamp"); err == nil {
		m.turn, err = l.number(v.object, "turn_number")
	}
	if err == nil {
		m.data, err = l.object(v.object, "data")
	}
	if err == nil {
		m.latency, err = latencyOf(l, v.object)
	}
	if err != nil {
		return row{rejected: replay.NewReject(v.line, err)}
	}
	text, spoken := spokenIn(l.value(v.object, "text"), "user", askedKeys...)
	reply, answered := spokenIn(l.value(v.object, "reply"), "assistant", repliedKeys...)
	if id := textOf(v.object["id"]); id != "" {
		m.position = "trace " + id
	}
	m.text = text
	switch {
	case m.session == "" && (spoken || answered):
		return row{rejected: replay.Reject{Line: v.line, Kind: replay.NoSession, Reason: "the trace has no sessionId"}}
	case spoken:
		return b.turn(v.line, m, reply)
	case answered:
		m.sender, m.text, m.state = "bot", reply, "" // which is the one before a user's message
		events, err := b.add(m)
		if err != nil {
			return row{rejected: replay.NewReject(v.line, err)}
		}
		return row{events: events}
	}
	return row{passedOver: true}
}

// latencyOf is the latency of a trace in milliseconds; Langfuse has seconds.
func latencyOf(l lookup, o object) (*json.Number, error) {
	if l.paths["latency_ms"] != "" {
		return l.number(o, "latency_ms")
	}
	n, is := o["latency"].(json.Number)
	if !is {
		return nil, nil
	}
	seconds, err := n.Float64()
	if err != nil || math.Abs(seconds) > 1e9 {
		return nil, replay.BadRow(replay.BadField, "its latency %.40q is no number of seconds", n)
	}
	// Rounded to the microsecond: 1.1 s is 1100 ms, whatever a binary fraction makes of it.
	return new(json.Number(strconv.FormatFloat(math.Round(seconds*1e6)/1e3, 'f', -1, 64))), nil
}

// spokenIn finds what was said in the input or output of a call: a text, a message, a list of messages, of which the
// last of the role counts, or an object with one of the keys.
func spokenIn(v any, role string, keys ...string) (text string, ok bool) {
	switch v := v.(type) {
	case string:
		return v, v != ""
	case []any:
		for _, v0 := range slices.Backward(v) {
			if m, is := v0.(object); is && roleIs(m, role) {
				return messageText(m)
			}
		}
		if len(v) > 0 {
			if _, message := v[0].(object); !message || !hasRoles(v) {
				text, ok = content(v)
				return text, ok && text != ""
			}
		}
	case object:
		if _, is := v["role"]; is {
			if !roleIs(v, role) {
				return "", false
			}
			return messageText(v)
		}
		if list, is := v["messages"].([]any); is {
			return spokenIn(list, role, keys...)
		}
		for _, key := range keys {
			if inner, there := v[key]; there && inner != nil {
				return spokenIn(inner, role, keys...)
			}
		}
	}
	return "", false
}

func hasRoles(list []any) bool {
	for _, item := range list {
		if m, is := item.(object); is && m["role"] != nil {
			return true
		}
	}
	return false
}

// roleIs reports whether a message is of the user, or of the bot.
func roleIs(m object, role string) bool {
	name, _ := m["role"].(string)
	is := replay.RoleOf(name)
	return is == replay.RoleUser && role == "user" || is == replay.RoleBot && role != "user"
}

// messageText is what a message says, in content or in parts.
func messageText(m object) (string, bool) {
	for _, key := range []string{"content", "parts"} {
		if text, ok := content(m[key]); ok && text != "" {
			return text, true
		}
	}
	return "", false
}
