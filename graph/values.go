package graph

import (
	"bytes"
	"encoding/json"
)

// decodeValues reads the stored fields of a state. Most fields stay as they are from turn to turn: what stands as it
// stood in the known record is shared with the known state and not decoded again. Anything unexpected leads to decoding
// all.
func (s *schema[S]) decodeValues(data []byte, known recalled[S]) (*S, error) {
	if state, ok := s.changed(data, known, decoding[S]); ok {
		return state, nil
	}
	state := new(S)
	err := json.Unmarshal(data, state)
	for _, c := range s.deep {
		c.detach(state) // so that slices have no room to spare
	}
	return state, err
}

// changed returns the state that stored fields give. It takes over the fields that are the same in the known record,
// and reads the others. It reports false when the two records have other fields, or the same in another order.
func (s *schema[S]) changed(data []byte, known recalled[S],
	read func(c Column[S], into *S, stored []byte) error) (*S, bool) {
	if known.records == 0 {
		return nil, false
	}
	state := new(S)
	now, before := members{rest: data}, members{rest: known.last.Values}
	for now.next() {
		c, stored := s.byName[string(now.name)]
		if !stored || c.about().grows() || !before.next() || !bytes.Equal(now.name, before.name) {
			return nil, false
		}
		if bytes.Equal(now.value, before.value) {
			c.take(state, known.state)
		} else if read(c, state, now.value) != nil {
			return nil, false
		}
	}
	return state, now.ended && !before.next() && before.ended
}

// members steps through the members of a JSON object without white space between them, as this package writes it.
type members struct {
	rest        []byte
	begun       bool
	name, value []byte // name as it stands between its quotes
	ended       bool   // the object is over and nothing follows it
}

// next reports false at the end of the object, and where the text is not of that form.
func (m *members) next() bool {
	first := byte('{')
	if m.begun {
		first = ','
		m.ended = string(m.rest) == "}"
	}
	m.begun = true
	if len(m.rest) < 2 || m.rest[0] != first || m.rest[1] != '"' {
		return false
	}
	end := stringEnd(m.rest, 1)
	if end < 0 || end >= len(m.rest) || m.rest[end] != ':' {
		return false
	}
	m.name, m.rest = m.rest[2:end-1], m.rest[end+1:]
	end = valueEnd(m.rest)
	if end <= 0 {
		return false
	}
	m.value, m.rest = m.rest[:end], m.rest[end:]
	return true
}

// stringEnd returns where the string that begins at a place is over; -1 where it is not.
func stringEnd(text []byte, from int) int {
	for i := from + 1; ; {
		quote := bytes.IndexByte(text[i:], '"')
		if quote < 0 {
			return -1
		}
		i += quote + 1
		slashes := 0
		for text[i-2-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i
		}
	}
}

// valueEnd returns where the value that a text begins with is over: at the comma or brace behind it; -1 where there is
// none.
func valueEnd(text []byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			end := stringEnd(text, i)
			if end < 0 {
				return -1
			}
			i = end - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
		case ',':
			if depth == 0 {
				return i
			}
		}
	}
	return -1
}

func decoding[S any](c Column[S], into *S, stored []byte) error { return c.decode(into, stored) }
