package lead

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
)

// writer writes what receivers are told of a turn. A turn waits for it, so it writes JSON as encoding/json would, but
// without looking at types, and what all events have in common only once.
type writer struct {
	*Visitor
	// values, said and collected are mappings as JSON. The profile is written when the first body needs it.
	values, said, collected, profile []byte
	// text holds the bodies that are written, one behind the other: they are kept together.
	text []byte
}

// bodySize is about the size of a body.
const bodySize = 600

func newWriter(v *Visitor, rows int) *writer {
	w := &writer{Visitor: v, text: make([]byte, 0, rows*bodySize)}
	w.values, w.said, w.collected = appendTexts(nil, v.Values), appendTexts(nil, v.Words), appendTexts(nil, v.Collected)
	return w
}

// id identifies what one receiver is told of an event. It is a hash of receiver, site, session, event and content: the
// same for the same content in every process, and another for other content, as which counts what comes back after it
// was replaced.
func (w *writer) id(e *Event, receiver string) string {
	var room [512]byte
	text := append(room[:0], '[')
	for _, s := range []string{receiver, w.Site, w.Session, e.Name} {
		text = append(appendText(text, s), ',')
	}
	text = appendText(text, w.Email)
	if e.Name != EmailCaptured {
		text = append(text, ',')
		if w.Values == nil { // ids have always told none from empty
			text = append(text, "null"...)
		} else {
			text = append(text, w.values...)
		}
	}
	if w.Corrections > 0 {
		text = strconv.AppendInt(append(text, ','), int64(w.Corrections), 10)
	}
	sum := sha256.Sum256(append(text, ']'))
	return string(hex.AppendEncode(room[:0], sum[:16]))
}

// body returns what a receiver is told, without secrets.
func (w *writer) body(e *Event, receiver, id string) ([]byte, error) {
	if receiver == PostHogName {
		return json.Marshal(capture{
			Event: "rw_" + e.Name, DistinctID: cmp.Or(w.Person, w.Session), Timestamp: w.At, UUID: uuid(id),
			Properties: map[string]string{
				"rw_capture_context": e.Context, "site_name": w.Site, "session_id": w.Session,
			},
		})
	}
	at, err := w.At.MarshalJSON()
	if err == nil && w.profile == nil {
		w.profile, err = json.Marshal(&w.Profile)
	}
	if err != nil {
		return nil, err
	}
	from := len(w.text)
	w.text = append(w.text, '{')
	w.string("event", e.Name)
	w.string("id", id)
	w.string("capture_context", e.Context)
	w.string("site", w.Site)
	w.string("session", w.Session)
	w.string("email", w.Email)
	w.json("values", w.values)
	w.json("said", w.said)
	w.json("collected", w.collected)
	w.json("changed", appendList(nil, e.Changed))
	w.json("profile", w.profile)
	w.json("captured_at", at)
	w.text[len(w.text)-1] = '}' // in place of the last comma
	return slices.Clip(w.text[from:]), nil
}

// string writes a field that is text, and a comma.
func (w *writer) string(name, text string) { w.text = append(appendText(w.key(name), text), ',') }

// json writes a field whose value is written already, and a comma.
func (w *writer) json(name string, value []byte) { w.text = append(append(w.key(name), value...), ',') }

// key is what is written so far with the name of a field, which needs no escaping.
func (w *writer) key(name string) []byte {
	return append(append(append(w.text, '"'), name...), '"', ':')
}
