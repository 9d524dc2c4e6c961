package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

// maxEventID bounds ids, sessions and flows in bytes: an entry of an index holds one of each, and PostgreSQL's at most
// 2,700 bytes.
const maxEventID = 512

// eventRow is an event as databases keep it. Its JSON is "" for none; nothing in it is shared with the event.
type eventRow struct {
	id, kind, unitType, unitID             string
	experiments, context, metrics, payload string
	micros                                 int64
	session, flow                          string
}

func newEventRow(e replay.Event) (eventRow, error) {
	r := eventRow{
		id: plainText(e.ID), kind: plainText(e.Type), unitType: plainText(e.UnitType), unitID: plainText(e.UnitID),
		micros: e.Time.UnixMicro(), session: plainText(e.SessionID), flow: plainText(e.FlowID),
	}
	if r.id == "" {
		return r,
			fmt.Errorf("an event of session %q at %v has no event_id: give it one, so that it can be told from others",
				r.session, e.Time)
	}
	if y := e.Time.UTC().Year(); y < 0 || y > 9999 {
		return r, r.errorf("its time is in the year %d: correct it", y)
	}
	for _, column := range []struct {
		name string
		raw  json.RawMessage
		to   *string
	}{
		{"experiments", e.Experiments, &r.experiments},
		{"context", e.Context, &r.context},
		{"metrics", e.Metrics, &r.metrics},
		{"payload", e.Payload, &r.payload},
	} {
		text, ok := plainJSON(column.raw)
		if !ok {
			return r, r.errorf("its %s is no JSON: correct it", column.name)
		}
		*column.to = text
	}
	if err := r.placeInContext(); err != nil {
		return r, err
	}
	for _, key := range []struct {
		name, value string
	}{{"event_id", r.id}, {"session_id", r.session}, {"flow_id", r.flow}} {
		if n := len(key.value); n > maxEventID {
			return r, r.errorf("its %s has %d bytes, and at most %d can be kept: shorten it", key.name, n, maxEventID)
		}
	}
	return r, nil
}

func (r *eventRow) errorf(format string, args ...any) error {
	id := r.id
	if len(id) > maxEventID {
		id = strings.ToValidUTF8(id[:maxEventID], "") + "…"
	}
	return fmt.Errorf("event %q: "+format, append([]any{id}, args...)...)
}

func (r *eventRow) size() int {
	return len(r.id) + len(r.kind) + len(r.unitType) + len(r.unitID) + len(r.session) + len(r.flow) +
		len(r.experiments) + len(r.context) + len(r.metrics) + len(r.payload)
}

// placeInContext makes session and flow the same in the context as beside it, because PostgreSQL reads them in the
// context. If only one of them has a value, that value counts. If both have one, the value beside the context counts.
func (r *eventRow) placeInContext() error {
	if r.standsInContext("session_id", r.session) && r.standsInContext("flow_id", r.flow) {
		return nil
	}
	keys := map[string]json.RawMessage{}
	if r.context != "" && json.Unmarshal([]byte(r.context), &keys) != nil {
		if r.session == "" {
			return nil
		}
		return r.errorf("its context is no JSON object: correct it")
	}
	changed := placeKey(keys, "session_id", &r.session)
	changed = placeKey(keys, "flow_id", &r.flow) || changed
	if !changed {
		return nil
	}
	text, err := json.Marshal(keys)
	r.context = string(text)
	return err
}

// standsInContext reports whether a key of the context has a value, by a quick check. True is certain, false is not. It
// recognises only objects without nested objects and escapes.
func (r *eventRow) standsInContext(key, value string) bool {
	quoted := `"` + key + `"`
	return strings.HasPrefix(r.context, "{") && strings.LastIndexByte(r.context, '{') == 0 &&
		strings.IndexByte(r.context, '\\') < 0 && strings.Count(r.context, quoted) == 1 &&
		strings.Contains(r.context, quoted+`:"`+value+`"`)
}

// placeKey makes a key of the context and the value beside it the same. It reports whether the keys have changed.
func placeKey(keys map[string]json.RawMessage, name string, value *string) (changed bool) {
	raw, has := keys[name]
	var text string
	isText := has && json.Unmarshal(raw, &text) == nil && !bytes.Equal(raw, []byte("null"))
	if has && !isText && !bytes.Equal(raw, []byte("null")) {
		text = string(raw) // as PostgreSQL reads numbers
	}
	if *value == "" {
		*value = text
	}
	if *value == "" || isText && text == *value {
		return false
	}
	keys[name], _ = json.Marshal(*value) // of a string it cannot fail
	return true
}

// plainText is text that every database can keep.
func plainText(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
