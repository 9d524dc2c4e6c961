package answer

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// Text is a text in an answer, at a path from its root.
type Text struct {
	Path string `json:"path"`
	Text string `json:"text"`
	// Speaks is true where the path leads through a list of messages with roles. The next answer may have its reply at
	// another place of the list.
	Speaks bool `json:"-"`
}

// Named returns the reply of a JSON answer as it is found by its name, and where. ok is false where there is none.
func Named(body []byte) (reply Text, ok bool) {
	doc, err := decode(body)
	if err != nil {
		return Text{}, false
	}
	text, at, ok := named(doc, false)
	if !ok {
		return Text{}, false
	}
	return Text{at.path(), text, at.speaks()}, true
}

// maxTexts bounds the texts that are looked at, and maxNested how deep.
const maxTexts, maxNested = 2000, 16

// Texts returns the texts of a JSON value with their paths: a mapping's in the order of its names, before those of
// mappings within it. Data that is not JSON is an error.
func Texts(data []byte) ([]Text, error) {
	doc, err := decode(data)
	if err != nil {
		return nil, err
	}
	var found []Text
	level := []*position{{value: doc}}
	for range maxNested {
		var next []*position
		for _, p := range level {
			switch v := p.value.(type) {
			case string:
				if len(found) < maxTexts {
					found = append(found, Text{p.path(), v, p.speaks()})
				}
			case map[string]any:
				for _, name := range slices.Sorted(maps.Keys(v)) {
					next = append(next, &position{value: v[name], in: p, name: name})
				}
			case []any:
				for i, element := range v {
					next = append(next, &position{value: element, in: p, at: i, among: len(v)})
				}
			}
		}
		level = next[:min(len(next), maxTexts)]
	}
	return found, nil
}

// plainName matches names that stand behind a point in a path (RFC 9535, section 2.5.1.1).
var plainName = text.Regexp(`^[A-Za-z_][A-Za-z0-9_]*$`)

// path returns the JSONPath of a place. The last of several elements is counted from the end, because the next answer
// may have more of them.
func (p *position) path() string {
	switch {
	case p.in == nil:
		return "$"
	case p.among > 1 && p.at == p.among-1:
		return p.in.path() + "[-1]"
	case p.among > 0:
		return p.in.path() + "[" + strconv.Itoa(p.at) + "]"
	case plainName().MatchString(p.name):
		return p.in.path() + "." + p.name
	}
	return p.in.path() + "[" + quotedName(p.name) + "]"
}

// quotedName writes a name in quotes, with the escapes of RFC 9535.
func quotedName(name string) string {
	out := []byte{'\''}
	for _, r := range name {
		switch {
		case r == '\'' || r == '\\':
			out = append(out, '\\', byte(r))
		case r < ' ':
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			out = append(out, string(r)...)
		}
	}
	return string(append(out, '\''))
}

// speaks reports whether the way to a place leads through a list whose elements have roles.
func (p *position) speaks() bool {
	for ; p != nil; p = p.in {
		if p.among > 0 && roleOf(p.value) != "" {
			return true
		}
	}
	return false
}

// Describe says of a body what stands at its top, and how it begins, in lines for people.
func Describe(body []byte) string {
	top := "the answer is not JSON"
	if doc, err := decode(body); err == nil {
		var keys keysOf
		keys.add(doc)
		top = keys.String()
	}
	begins := clip(string(body), shownOfBody)
	if begins == "" {
		begins = "nothing: the answer is empty"
	}
	return "  top level     " + top + "\n  begins        " + begins
}
