package llm

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// text is a template: $1, $12, ${1} and ${name} stand for the captures of the rule's pattern, $0 for what it matched,
// $$ for a dollar, ${tool.NAME} for the constant that the parameter NAME of an offered tool has. A number without a
// group, as in "$5 off", stays as it is written.
type text struct{ pieces []piece }

type piece struct {
	literal  string
	group    int // -1 for a literal or constant
	constant string
}

// captures is the pattern whose groups fill the templates of a rule, nil without one, and the condition that it belongs
// to.
type captures struct {
	pattern   *regexp.Regexp
	condition string
}

const constantPrefix = "tool."

// compileText returns the template and the first ${name} that the pattern doesn't have.
func compileText(s string, from captures) (t text, unknown string) {
	groups := 0
	if from.pattern != nil {
		groups = from.pattern.NumSubexp()
	}
	literal := func(s string) {
		if s != "" {
			t.pieces = append(t.pieces, piece{literal: s, group: -1})
		}
	}
	for {
		before, after, found := strings.Cut(s, "$")
		literal(before)
		if !found {
			return t, unknown
		}
		s = after
		digits := len(after) - len(strings.TrimLeft(after, "0123456789"))
		name, rest, closed := strings.Cut(strings.TrimPrefix(after, "{"), "}")
		switch {
		case strings.HasPrefix(after, "$"):
			literal("$")
			s = after[1:]
		case digits > 0:
			if n, err := strconv.Atoi(after[:digits]); err == nil && n <= groups {
				t.pieces = append(t.pieces, piece{group: n})
			} else {
				literal("$" + after[:digits])
			}
			s = after[digits:]
		case strings.HasPrefix(after, "{"+constantPrefix) && closed:
			t.pieces = append(t.pieces, piece{group: -1, constant: strings.TrimPrefix(name, constantPrefix)})
			s = rest
		case strings.HasPrefix(after, "{") && closed:
			n := groupIndex(name, from.pattern, groups)
			if n < 0 && unknown == "" {
				unknown = name
			}
			t.pieces = append(t.pieces, piece{group: n, literal: "${" + name + "}"})
			s = rest
		default:
			literal("$")
		}
	}
}

func groupIndex(name string, pattern *regexp.Regexp, groups int) int {
	if n, err := strconv.Atoi(name); err == nil {
		if n < 0 || n > groups {
			return -1
		}
		return n
	}
	if pattern == nil {
		return -1
	}
	return pattern.SubexpIndex(name)
}

func (t text) fill(v *scene) string {
	if len(t.pieces) == 1 && t.pieces[0].group < 0 && t.pieces[0].constant == "" {
		return t.pieces[0].literal
	}
	var b strings.Builder
	for _, p := range t.pieces {
		switch {
		case p.constant != "":
			value, ok := v.constant(p.constant)
			if !ok && v.missing == "" {
				v.missing = p.constant
			}
			b.WriteString(value)
		case p.group >= 0 && p.group < len(v.groups):
			b.WriteString(v.groups[p.group])
		default:
			b.WriteString(p.literal)
		}
	}
	return b.String()
}

// readText reads a template and reports a ${name} that does not exist.
func readText(n source.Node, from captures) text {
	t, unknown := compileText(n.Text(), from)
	if unknown != "" {
		known := []string{"0"}
		if from.pattern != nil {
			for i, name := range from.pattern.SubexpNames()[1:] {
				known = append(known, orElse(name, strconv.Itoa(i+1)))
			}
		}
		n.Report(
			source.Suggest(unknown, known)+"; write $${"+unknown+"} for the text itself",
			"the pattern when.%s has no group %q", from.condition, unknown,
		)
	}
	return t
}

// tree is a JSON value whose texts are templates; keys stay in the order in which they were written.
type tree struct{ parts []part }

// part is JSON as it is or, with a template, a text to fill in.
type part struct {
	raw      string
	template *text
}

func readTree(n source.Node, from captures) tree {
	var t tree
	t.add(n, from)
	return t
}

func (t *tree) write(raw string) {
	if last := len(t.parts) - 1; last >= 0 && t.parts[last].template == nil {
		t.parts[last].raw += raw
		return
	}
	t.parts = append(t.parts, part{raw: raw})
}

func (t *tree) add(n source.Node, from captures) {
	switch n.Kind {
	case source.Null:
		t.write("null")
	case source.Bool:
		t.write(n.Scalar)
	case source.Number:
		t.write(jsonNumber(n))
	case source.String:
		filled := readText(n, from)
		if strings.Contains(n.Scalar, "$") {
			t.parts = append(t.parts, part{template: &filled})
			return
		}
		t.write(jsonString(n.Scalar))
	case source.List:
		t.write("[")
		for i, item := range n.List() {
			if i > 0 {
				t.write(",")
			}
			t.add(item, from)
		}
		t.write("]")
	case source.Map:
		if len(n.Fields) > maxKeys { // looking them up one by one takes quadratic time
			n.Report("split it into a list", "more than %d keys", maxKeys)
			return
		}
		t.write("{")
		for i, f := range n.Fields {
			if i > 0 {
				t.write(",")
			}
			t.write(jsonString(f.Name) + ":")
			t.add(n.Field(f.Name), from)
		}
		t.write("}")
	}
}

func (t tree) fill(v *scene) json.RawMessage {
	if len(t.parts) == 1 && t.parts[0].template == nil {
		return json.RawMessage(t.parts[0].raw)
	}
	var b strings.Builder
	for _, p := range t.parts {
		if p.template != nil {
			b.WriteString(jsonString(p.template.fill(v)))
		} else {
			b.WriteString(p.raw)
		}
	}
	return json.RawMessage(b.String())
}

func jsonString(s string) string {
	special := func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r >= utf8.RuneSelf }
	if strings.IndexFunc(s, special) < 0 { // most texts
		return `"` + s + `"`
	}
	encoded, _ := encodeJSON(s) // a string always encodes
	return string(encoded)
}

// jsonNumber writes a YAML number as JSON, as it stands where JSON allows that.
func jsonNumber(n source.Node) string {
	if json.Valid([]byte(n.Scalar)) {
		return n.Scalar
	}
	f, ok := n.Float()
	encoded, err := json.Marshal(f)
	if !ok || err != nil {
		n.Report("write a number that JSON has, or text in quotes", "%s is not a JSON number", n.Scalar)
		return "0"
	}
	return string(encoded)
}

// The bounds of what is remembered of schemas: those of a flow of a thousand nodes fit.
const (
	maxSchemas     = 1000
	maxSchemaBytes = 16 << 10
)

// constants finds the properties with a `const` in the schemas of tools' parameters. It remembers schemas, because an
// agent sends the same few with every request and decoding one takes longer than the rest of an answer. The zero value
// is ready and safe for concurrent use.
type constants struct {
	mu    sync.RWMutex
	known map[string]map[string]string
}

func (c *constants) of(schema json.RawMessage) map[string]string {
	c.mu.RLock()
	values, ok := c.known[string(schema)]
	c.mu.RUnlock()
	if ok || len(schema) == 0 {
		return values
	}
	values = decodeConstants(schema)
	if len(schema) > maxSchemaBytes {
		return values
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= maxSchemas {
		clear(c.known)
	}
	if c.known == nil {
		c.known = map[string]map[string]string{}
	}
	c.known[string(schema)] = values
	return values
}

// decodeConstants returns texts as they are and other values as JSON. What isn't such a schema has no constants.
func decodeConstants(schema json.RawMessage) map[string]string {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil
	}
	values := map[string]string{}
	for name, raw := range s.Properties {
		var property struct {
			Const json.RawMessage `json:"const"`
		}
		if json.Unmarshal(raw, &property) != nil || property.Const == nil {
			continue
		}
		var text string
		if json.Unmarshal(property.Const, &text) != nil || string(property.Const) == "null" {
			text = string(property.Const)
		}
		values[name] = text
	}
	return values
}
