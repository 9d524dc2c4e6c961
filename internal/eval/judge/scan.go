package judge

import (
	"cmp"
	"encoding/json"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// container is a JSON object or array that stands in a text, at text[start:end].
type container struct {
	start, end int
	// hash is the same for equal values: the order of keys and the notation of texts and numbers do not count.
	hash uint64
	// repeats is true when the container, or one in it, has a key twice.
	repeats bool
	// shaped is true for an object that has the asked key, in whatever case.
	shaped bool
}

// scanner knows every JSON object and array of a text.
type scanner struct {
	text  string
	seed  maphash.Seed
	asked string
	// found is in falling order of start.
	found []container
	// members is reused by each object.
	members []member
}

type member struct{ key, value uint64 }

// Kinds keep values of different kinds apart in hashes.
const (
	textKind = iota
	numberKind
	literalKind
	objectKind
	arrayKind
)

// scan finds the JSON objects and arrays of a text wherever they begin, also in words, in fences and within strings of
// other objects. It goes backwards: what an object holds is known before the object is read. So no byte is read more
// than a few times, and no nesting is too deep. Objects with the key asked are marked.
func scan(text, asked string, seed maphash.Seed) *scanner {
	s := &scanner{text: text, asked: asked, seed: seed}
	for at := len(text) - 1; at >= 0; at-- {
		if text[at] != '{' && text[at] != '[' {
			continue
		}
		if c, _, ok := s.read(at); ok {
			s.found = append(s.found, c)
		}
	}
	return s
}

// holds reports whether one of the containers has the hash.
func (s *scanner) holds(hash uint64) bool {
	return slices.ContainsFunc(s.found, func(c container) bool { return c.hash == hash })
}

// outermost returns the objects that stand in no other object, in their order.
func (s *scanner) outermost() []container {
	var objects []container
	for at := 0; ; {
		brace := strings.IndexByte(s.text[at:], '{')
		if brace < 0 {
			return objects
		}
		at += brace
		c, whole := s.at(at)
		if !whole {
			at++
			continue
		}
		objects = append(objects, c)
		at = c.end
	}
}

// inner returns the first object within a container that has the asked key.
func (s *scanner) inner(c container) (first container, ok bool) {
	for _, in := range s.found {
		if in.shaped && in.start > c.start && in.end < c.end {
			first, ok = in, true
		}
	}
	return first, ok
}

// at returns the container that begins at an offset.
func (s *scanner) at(start int) (container, bool) {
	i, ok := slices.BinarySearchFunc(s.found, start, func(c container, start int) int {
		return cmp.Compare(start, c.start)
	})
	if !ok {
		return container{}, false
	}
	return s.found[i], true
}

// read reads the container that begins at an offset. The containers in it must have been found. reach is where reading
// ended.
func (s *scanner) read(start int) (c container, reach int, ok bool) {
	object := s.text[start] == '{'
	closing := byte(']')
	if object {
		closing = '}'
	}
	c = container{start: start}
	s.members = s.members[:0]
	at := s.skip(start + 1)
	for s.byte(at) != closing || len(s.members) > 0 { // an empty container is one, a comma before the end is a fault
		var m member
		if object {
			var key string
			if key, at, ok = s.string(at); !ok {
				return c, at, false
			}
			m.key = maphash.String(s.seed, key)
			c.shaped = c.shaped || strings.EqualFold(key, s.asked)
			if at = s.skip(at); s.byte(at) != ':' {
				return c, at, false
			}
			at = s.skip(at + 1)
		}
		var repeats bool
		if m.value, at, repeats, ok = s.value(at); !ok {
			return c, at, false
		}
		c.repeats = c.repeats || repeats
		s.members = append(s.members, m)
		at = s.skip(at)
		if s.byte(at) == closing {
			break
		}
		if s.byte(at) != ',' {
			return c, at, false
		}
		at = s.skip(at + 1)
	}
	c.end = at + 1
	c.hash = s.sum(object, &c)
	return c, c.end, true
}

// sum hashes the members of a container. Of members with one key, the last counts, as for every reader of JSON.
func (s *scanner) sum(object bool, c *container) uint64 {
	kind := arrayKind
	if object {
		kind = objectKind
		slices.SortStableFunc(s.members, func(a, b member) int { return cmp.Compare(a.key, b.key) })
	}
	var hash uint64
	for i, m := range s.members {
		if object && i+1 < len(s.members) && s.members[i+1].key == m.key {
			c.repeats = true
			continue
		}
		hash = maphash.Comparable(s.seed, [3]uint64{hash, m.key, m.value})
	}
	return maphash.Comparable(s.seed, [2]uint64{uint64(kind), hash})
}

// value reads a value.
func (s *scanner) value(at int) (hash uint64, end int, repeats, ok bool) {
	switch b := s.byte(at); {
	case b == '"':
		content, end, ok := s.string(at)
		return s.scalar(textKind, content), end, false, ok
	case b == '{' || b == '[':
		c, found := s.at(at)
		if !found {
			return 0, at, false, false
		}
		return c.hash, c.end, c.repeats, true
	case b == '-' || b >= '0' && b <= '9':
		hash, end, ok = s.number(at)
		return hash, end, false, ok
	}
	for _, word := range []string{"true", "false", "null"} {
		if strings.HasPrefix(s.text[at:], word) {
			return s.scalar(literalKind, word), at + len(word), false, true
		}
	}
	return 0, at, false, false
}

// string reads a text in quotes.
func (s *scanner) string(start int) (content string, end int, ok bool) {
	if s.byte(start) != '"' {
		return "", start, false
	}
	escaped := false
	for at := start + 1; at < len(s.text); at++ {
		switch b := s.text[at]; {
		case b < ' ':
			return "", at, false
		case b == '\\':
			escaped = true
			at++
		case b == '"':
			end = at + 1
			content = s.text[start+1 : at]
			if escaped || !utf8.ValidString(content) {
				ok := json.Unmarshal([]byte(s.text[start:end]), &content) == nil
				return content, end, ok
			}
			return content, end, true
		}
	}
	return "", len(s.text), false
}

// number reads a number.
func (s *scanner) number(start int) (hash uint64, end int, ok bool) {
	for end = start; end < len(s.text) && strings.IndexByte("+-.0123456789eE", s.text[end]) >= 0; {
		end++
	}
	written := s.text[start:end]
	if !json.Valid([]byte(written)) {
		return 0, start, false
	}
	return s.scalar(numberKind, plainNumber(written)), end, true
}

// plainNumber writes a number in one notation: its digits without zeros at either end, and the power of ten that they
// are multiplied by.
func plainNumber(written string) string {
	digits, exponent, _ := strings.Cut(strings.ToLower(written), "e")
	power := 0
	if exponent != "" {
		var err error
		if power, err = strconv.Atoi(exponent); err != nil {
			return written // beyond all that is used
		}
	}
	digits, negative := strings.CutPrefix(digits, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	power -= len(fraction)
	digits = strings.TrimLeft(whole+fraction, "0")
	trimmed := strings.TrimRight(digits, "0")
	power += len(digits) - len(trimmed)
	switch {
	case trimmed == "":
		return "0"
	case negative:
		trimmed = "-" + trimmed
	}
	return trimmed + "e" + strconv.Itoa(power)
}

func (s *scanner) scalar(kind int, content string) uint64 {
	return maphash.Comparable(s.seed, [2]uint64{uint64(kind), maphash.String(s.seed, content)})
}

// byte returns the byte at an offset, 0 behind the end.
func (s *scanner) byte(at int) byte {
	if at < len(s.text) {
		return s.text[at]
	}
	return 0
}

// skip returns the offset behind white space.
func (s *scanner) skip(at int) int {
	for at < len(s.text) && strings.IndexByte(" \t\r\n", s.text[at]) >= 0 {
		at++
	}
	return at
}
