package importer

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

// object is a row as a value of JSON; the cells of a table are texts.
type object = map[string]any

// find follows a dotted path. A key that has dots itself goes before a path; a text that holds JSON is followed, too.
func find(in any, path string) (any, bool) {
	if text, is := in.(string); is {
		var inside any
		if t := strings.TrimSpace(text); len(t) == 0 || t[0] != '{' || json.Unmarshal([]byte(t), &inside) != nil {
			return nil, false
		}
		in = inside
	}
	o, is := in.(object)
	if !is {
		return nil, false
	}
	if v, there := o[path]; there {
		return v, true
	}
	for at := strings.IndexByte(path, '.'); at >= 0; {
		if v, there := o[path[:at]]; there {
			if found, ok := find(v, path[at+1:]); ok {
				return found, true
			}
		}
		next := strings.IndexByte(path[at+1:], '.')
		if next < 0 {
			break
		}
		at += 1 + next
	}
	return nil, false
}

// lookup finds fields in rows: where the options say, else under the names that a format has for them.
type lookup struct {
	paths map[string]string
	names map[string][]string
}

func (l lookup) value(row any, field string) any {
	if path := l.paths[field]; path != "" {
		v, _ := find(row, path)
		return v
	}
	for _, name := range l.names[field] {
		if v, there := find(row, name); there && v != nil && v != "" {
			return v
		}
	}
	return nil
}

// has reports whether a row has a field, empty or not.
func (l lookup) has(row any, field string) bool {
	names := l.names[field]
	if path := l.paths[field]; path != "" {
		names = []string{path}
	}
	for _, name := range names {
		if _, there := find(row, name); there {
			return true
		}
	}
	return false
}

// text returns a field as a text: empty when it is not there.
func (l lookup) text(row any, field string) string { return textOf(l.value(row, field)) }

// textOf is a value as a text.
func textOf(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case json.Number:
		return v.String()
	}
	data, _ := json.Marshal(v) // what was JSON can be written
	return string(data)
}

// number returns a field as a number; nil when it is not there.
func (l lookup) number(row any, field string) (*json.Number, error) {
	text := strings.TrimSpace(l.text(row, field))
	if text == "" {
		return nil, nil
	}
	var n json.Number
	if json.Unmarshal([]byte(text), &n) != nil {
		return nil, replay.BadRow(replay.BadField, "its %s %.40q is no number", field, text)
	}
	return &n, nil
}

// time returns a field as a time; zero when it is not there.
func (l lookup) time(row any, field string) (time.Time, error) {
	text := strings.TrimSpace(l.text(row, field))
	if text == "" {
		return time.Time{}, nil
	}
	return replay.ReadTime(text)
}

// object returns a field as an object, which may stand in a text; nil when it is not there, or empty.
func (l lookup) object(row any, field string) (json.RawMessage, error) {
	v := l.value(row, field)
	if v == nil {
		return nil, nil
	}
	text := strings.TrimSpace(textOf(v))
	if text == "" || text == "null" {
		return nil, nil
	}
	var o object
	if json.Unmarshal([]byte(text), &o) != nil {
		return nil, replay.BadRow(replay.BadField, "its %s is not a JSON object", field)
	}
	return json.RawMessage(text), nil
}

// decode reads a row of JSON with its numbers as they are written.
func decode(raw json.RawMessage) (object, error) {
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	var o object
	if err := d.Decode(&o); err != nil {
		return nil, replay.BadRow(replay.NotAnObject, "it is no JSON object: %s", err)
	}
	return o, nil
}

// content is what a message says: a text, or a list of parts of which those of text count.
func content(v any) (text string, ok bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case []any:
		var b strings.Builder
		for _, part := range v {
			switch p := part.(type) {
			case string:
				b.WriteString(p)
			case object:
				if kind, named := p["type"].(string); named && kind != "text" && kind != "input_text" &&
					kind != "output_text" {
					continue
				}
				said, is := p["text"].(string)
				if !is {
					said, _ = p["content"].(string)
				}
				b.WriteString(said)
			}
		}
		return b.String(), true
	}
	return "", false
}
