package importer

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

// span is a span of OTLP JSON (https://opentelemetry.io/docs/specs/otlp), as far as it is needed.
type span struct {
	TraceID    string      `json:"traceId"`
	SpanID     string      `json:"spanId"`
	ParentID   string      `json:"parentSpanId"`
	Start      json.Number `json:"startTimeUnixNano"`
	End        json.Number `json:"endTimeUnixNano"`
	Attributes []otelPair  `json:"attributes"`
}

// spanNames are the attributes of a turn, those of GenAI by the conventions of OpenTelemetry.
var spanNames = map[string][]string{
	"session_id": {"gen_ai.conversation.id"}, "flow_id": {"rehearse.flow_id"}, "unit_id": {"user.id"},
	"state":      {"rehearse.state"},
	"next_state": {"rehearse.next_state"}, "outcome": {"rehearse.outcome"}, "data": {"rehearse.data"},
	"turn_number": {"rehearse.turn_number"},
	"text":        {"gen_ai.input.messages"}, "reply": {"gen_ai.output.messages"},
}

// turnSpan is a span that is a turn unless another one is around it.
type turnSpan struct {
	line       int
	key        spanKey
	start, end time.Time
	attributes object
}

type spanKey struct{ trace, span string }

// readSpans reads a turn from each outermost span that has input and output messages. What is around a span may come
// behind it, so they are all read before the first is used.
func readSpans(r *bufio.Reader, o *Options) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		parents, l := map[spanKey]string{}, lookup{o.Map, spanNames}
		var turns []turnSpan
		n := 0
		for v, err := range values(r) {
			if err != nil {
				yield(row{}, err)
				return
			}
			if v.rejected.Kind != "" {
				if !yield(row{rejected: v.rejected}, nil) {
					return
				}
				continue
			}
			spans, err := spansOf(v.raw)
			if err != nil {
				if !yield(row{rejected: replay.NewReject(v.line, err)}, nil) {
					return
				}
				continue
			}
			for _, raw := range spans {
				n++
				turn, of := readSpan(raw, n, parents, l)
				if turn != nil {
					turns = append(turns, *turn)
				} else if !yield(of, nil) {
					return
				}
			}
		}
		readTurns(turns, parents, o, yield)
	}
}

// readTurns makes turns of the outermost spans, in the order of time.
func readTurns(turns []turnSpan, parents map[spanKey]string, o *Options, yield func(row, error) bool) {
	isTurn := map[spanKey]bool{}
	for i := range turns {
		isTurn[turns[i].key] = true
	}
	slices.SortStableFunc(turns, func(a, b turnSpan) int { return a.start.Compare(b.start) })
	b := newBuilder(o)
	for i := range turns {
		of := row{passedOver: true}
		if !inside(turns[i].key, parents, isTurn) {
			of = b.span(lookup{o.Map, spanNames}, &turns[i])
		}
		if !yield(of, nil) {
			return
		}
	}
	yield(row{events: b.end(), rest: true}, nil)
}

// inside reports whether a turn lies in another one.
func inside(key spanKey, parents map[spanKey]string, isTurn map[spanKey]bool) bool {
	for range len(parents) { // which ends circles
		parent := parents[key]
		if parent == "" || parent == key.span {
			return false
		}
		if key.span = parent; isTurn[key] {
			return true
		}
	}
	return false
}

// spansOf returns the spans of an element of resourceSpans, or of a line that has them.
func spansOf(raw json.RawMessage) ([]json.RawMessage, error) {
	type scopes struct {
		Scopes []struct {
			Spans []json.RawMessage `json:"spans"`
		} `json:"scopeSpans"`
	}
	var of struct {
		scopes
		Resources []scopes `json:"resourceSpans"`
	}
	if err := json.Unmarshal(raw, &of); err != nil {
		return nil, replay.BadRow(replay.BadField, "it is no OTLP JSON: %s", err)
	}
	var spans []json.RawMessage
	for _, r := range append(of.Resources, of.scopes) {
		for _, s := range r.Scopes {
			spans = append(spans, s.Spans...)
		}
	}
	return spans, nil
}

// readSpan reads a span. It is a turn, or the row says what else it is.
func readSpan(raw json.RawMessage, line int, parents map[spanKey]string, l lookup) (*turnSpan, row) {
	var s span
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, row{rejected: replay.Reject{
			Line: line, Kind: replay.BadField, Reason: "the span cannot be read: " + err.Error(),
		}}
	}
	key := spanKey{s.TraceID, s.SpanID}
	parents[key] = s.ParentID
	o := object{}
	for _, a := range s.Attributes {
		o[a.Key] = a.Value.value()
	}
	if l.value(o, "text") == nil || l.value(o, "reply") == nil {
		return nil, row{passedOver: true}
	}
	t := &turnSpan{line: line, key: key, attributes: o}
	for _, of := range []struct {
		from json.Number
		to   *time.Time
	}{{s.Start, &t.start}, {s.End, &t.end}} {
		nanos, err := of.from.Int64()
		if err != nil || nanos <= 0 {
			kind := replay.BadTime
			if of.from == "" {
				kind = replay.NoTime
			}
			return nil, row{rejected: replay.Reject{
				Line: line, Kind: kind,
				Reason: fmt.Sprintf("the span's time %.40q is no number of nanoseconds", of.from),
			}}
		}
		*of.to = time.Unix(0, nanos).UTC().Truncate(time.Microsecond)
	}
	return t, row{}
}

// span makes a turn of a span.
func (b *builder) span(l lookup, t *turnSpan) row {
	o := t.attributes
	m := message{
		session: cmp.Or(l.text(o, "session_id"), t.key.trace), flow: l.text(o, "flow_id"), unit: l.text(o, "unit_id"),
		state: l.text(o, "state"), next: l.text(o, "next_state"), outcome: l.text(o, "outcome"),
		position: "span " + t.key.trace + " " + t.key.span, at: t.start,
	}
	var err error
	if m.data, err = l.object(o, "data"); err == nil {
		m.turn, err = l.number(o, "turn_number")
	}
	if err != nil {
		return row{rejected: replay.NewReject(t.line, err)}
	}
	took := t.end.Sub(t.start)
	m.latency = new(json.Number(strconv.FormatFloat(float64(took.Microseconds())/1e3, 'f', -1, 64)))
	asked, isAsked := l.messages(o, "text")
	replied, isReplied := l.messages(o, "reply")
	if !isAsked || !isReplied {
		return row{rejected: replay.Reject{Line: t.line, Kind: replay.BadField, Reason: "its messages are no JSON"}}
	}
	text, spoken := spokenIn(asked, "user", askedKeys...)
	reply, _ := spokenIn(replied, "assistant", repliedKeys...)
	if !spoken {
		return row{passedOver: true}
	}
	m.text = text
	return b.turn(t.line, m, reply)
}

// messages returns the messages of an attribute, which is JSON. One that --map names may be the text itself, as other
// instrumentations have it.
func (l lookup) messages(o object, field string) (any, bool) {
	text := textOf(l.value(o, field))
	mapped := l.paths[field] != ""
	var messages any
	if json.Unmarshal([]byte(text), &messages) != nil {
		return text, mapped
	}
	switch messages.(type) {
	case []any, object, string:
		return messages, true
	}
	return text, true // a number that somebody said
}
