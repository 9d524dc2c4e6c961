package llm

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

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
