package template

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// piece is a part of a text: a placeholder or, without a name, a literal.
type piece struct{ literal, name string }

var (
	// braces finds \{{, ${{ … }} and {{ … }}.
	braces = regexp.MustCompile(`\\\{\{|(\$?)\{\{([^{}]*)\}\}`)
	// dotted matches the name in {{ vars.NAME }}.
	dotted = regexp.MustCompile(`^(vars|with)\.[\w-]+(?:\.[\w-]+)*$`)
)

// escaped writes a plain {{.
const escaped = `\{{`

// known are the placeholders that every template may hold, besides vars.NAME and with.NAME.
func known() []string {
	return []string{
		"message", "messages", "history", "system", "messages_parts", "conversation_id", "session_id", "turn",
		"test_id", "trial", "vars.NAME", "with.NAME",
	}
}

type compiler struct {
	scope Scope
	names map[string]bool
}

func (c compiler) sorted() []string { return slices.Sorted(maps.Keys(c.names)) }

func (c compiler) compile(n source.Node) node {
	switch n.Kind {
	case source.String:
		if whole := strings.TrimSpace(n.Scalar); braces.FindString(whole) == whole && whole != escaped {
			if name := strings.TrimSpace(strings.Trim(whole, "{}")); strings.HasPrefix(name, "with.") {
				return c.with(n, name)
			}
			n.Scalar = whole
		}
		return node{kind: text, pieces: c.pieces(n)}
	case source.List:
		items := make([]node, 0, len(n.Items))
		for _, item := range n.List() {
			items = append(items, c.compile(item))
		}
		return node{kind: list, items: items}
	case source.Map:
		fields := make([]field, 0, len(n.Fields))
		for name, value := range n.Entries() {
			fields = append(fields, field{name, c.compile(value)})
		}
		return node{kind: mapping, fields: fields}
	}
	return node{value: n.Any()}
}

// pieces cuts a text at its placeholders.
func (c compiler) pieces(n source.Node) []piece {
	var out []piece
	add := func(p piece) {
		if last := len(out) - 1; last >= 0 && p.name == "" && out[last].name == "" {
			out[last].literal += p.literal
			return
		}
		out = append(out, p)
	}
	rest := n.Scalar
	for rest != "" {
		at := braces.FindStringSubmatchIndex(rest)
		if at == nil {
			break
		}
		if at[0] > 0 {
			add(piece{literal: rest[:at[0]]})
		}
		switch found := rest[at[0]:at[1]]; {
		case found == escaped:
			add(piece{literal: "{{"})
		case at[2] < at[3]:
			// The configuration has filled in variables of the environment already.
			n.Report("write ${{ NAME }} or ${{ NAME:-fallback }}", "%s names no environment variable", found)
		default:
			for _, p := range c.placeholder(n, strings.TrimSpace(rest[at[4]:at[5]])) {
				add(p)
			}
		}
		rest = rest[at[1]:]
	}
	if rest != "" {
		add(piece{literal: rest})
	}
	return out
}

// placeholder returns what stands for {{ name }} inside a text.
func (c compiler) placeholder(n source.Node, name string) []piece {
	switch {
	case strings.HasPrefix(name, "with."):
		value := c.with(n, name)
		switch value.kind {
		case text:
			return value.pieces
		case plain:
			if value.value == nil {
				return nil
			}
		}
		return []piece{{literal: value.literal()}}
	case name == "mcp_url" && !c.scope.MCP:
		n.Report("add `mcp: {tools: FILE}` to the target",
			"{{ mcp_url }} needs a server of tools, and this target has none")
	case !slices.Contains(known(), name) && name != "mcp_url" && !dotted.MatchString(name) ||
		strings.HasSuffix(name, ".NAME"):
		n.Report(source.Suggest(name, known())+`; write \{{ for a plain {{`, "unknown placeholder {{ %s }}", name)
	}
	c.names[name] = true
	return []piece{{name: name}}
}

// with returns the value of {{with.NAME}}. It may hold placeholders, but none of with itself.
func (c compiler) with(n source.Node, name string) node {
	value, ok := c.scope.With, dotted.MatchString(name)
	for part := range strings.SplitSeq(strings.TrimPrefix(name, "with."), ".") {
		if ok {
			value, ok = value.Get(part)
		}
	}
	if !ok {
		n.Report("add `with: {"+strings.TrimPrefix(name, "with.")+": …}` to the target",
			"there is no value for {{ %s }}", name)
		return node{}
	}
	inner := c
	inner.scope.With = source.Value{}
	return inner.compile(n.With(value))
}

// parseJSON reads a text as JSON. A placeholder without quotes counts as one in quotes.
func parseJSON(written string) (source.Value, bool) {
	written = strings.TrimSpace(written)
	if written == "" || !strings.ContainsRune(`{["`, rune(written[0])) || strings.HasPrefix(written, "{{") {
		return source.Value{}, false
	}
	v, err := source.ParseJSON("", []byte(quoted(written)), 1)
	return v, err == nil
}

// quoted puts placeholders that stand outside of JSON strings into quotes.
func quoted(written string) string {
	var b strings.Builder
	inside := false
	for i := 0; i < len(written); i++ {
		switch {
		case inside && written[i] == '\\' && i+1 < len(written):
			b.WriteByte(written[i])
			i++
		case written[i] == '"':
			inside = !inside
		case !inside && strings.HasPrefix(written[i:], "{{"):
			if at := braces.FindStringIndex(written[i:]); at != nil && at[0] == 0 {
				name, err := json.Marshal(written[i : i+at[1]])
				if err != nil { // a text is always JSON
					return written
				}
				b.Write(name)
				i += at[1] - 1
				continue
			}
		}
		b.WriteByte(written[i])
	}
	return b.String()
}
