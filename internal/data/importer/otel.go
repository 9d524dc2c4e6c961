package importer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Spans of OpenTelemetry (OTLP as JSON) that follow the conventions for generative AI have the messages that a model
// was sent and what it answered. A conversation is made of all spans with its id, in the order in which they began.

func fitsOTel(root source.Value) bool { return has(first(root), "resourceSpans") }

// span is one request to a model.
type span struct {
	conversation, start string
	line                int
	said                []source.Value
	unsupported         []any
}

func readOTel(r *reader, root source.Value) {
	exports := []source.Value{root}
	if root.Kind == source.List {
		exports = root.Items
	}
	var spans []span
	for _, export := range exports {
		for _, resource := range within(export, "resourceSpans") {
			for _, scope := range within(resource, "scopeSpans", "instrumentationLibrarySpans") {
				for _, v := range within(scope, "spans") {
					if s, ok := r.span(v, len(spans)); ok {
						spans = append(spans, s)
					}
				}
			}
		}
	}
	slices.SortStableFunc(spans, func(a, b span) int {
		// nanoseconds as a text
		return cmp.Or(cmp.Compare(len(a.start), len(b.start)), strings.Compare(a.start, b.start))
	})
	var order []string
	talks := map[string]*conversation{}
	for _, s := range spans {
		if talks[s.conversation] == nil {
			order = append(order, s.conversation)
			talks[s.conversation] = &conversation{line: s.line, known: map[string]bool{}}
		}
		talks[s.conversation].add(s.said)
		talks[s.conversation].unsupported = append(talks[s.conversation].unsupported, s.unsupported...)
	}
	for _, id := range order {
		t := &test{id: id}
		r.said(t, talks[id].said)
		r.pending = append(r.pending, talks[id].unsupported...)
		r.add(source.Value{Line: talks[id].line}, t)
	}
}

func within(v source.Value, names ...string) []source.Value {
	for _, name := range names {
		if list, ok := v.Get(name); ok {
			return list.Items
		}
	}
	return nil
}

// span returns the messages of a span; ok is false for one that is no request to a model, or shows none.
func (r *reader) span(v source.Value, number int) (s span, ok bool) {
	attributes := attributesOf(v)
	for _, event := range within(v, "events") {
		name, _ := event.Get("name")
		if strings.HasPrefix(name.Scalar, "gen_ai.") {
			for key, value := range attributesOf(event) {
				if _, taken := attributes[key]; !taken {
					attributes[key] = value
				}
			}
		}
	}
	name, _ := v.Get("name")
	input, found := attributes["gen_ai.input.messages"]
	if !found {
		r.ignore(v.Line, "span "+name.Scalar, "it has no gen_ai.input.messages")
		return s, false
	}
	start, _ := v.Get("startTimeUnixNano")
	id, _ := v.Get("spanId")
	s = span{conversation: attributes["gen_ai.conversation.id"].Scalar, start: start.Scalar, line: v.Line}
	if s.conversation == "" {
		s.conversation = cmp.Or(id.Scalar, fmt.Sprintf("span-%d", number+1))
	}
	if system, ok := attributes["gen_ai.system_instructions"]; ok {
		if parts := r.structured(system, v.Line); len(parts) > 0 {
			s.said = append(s.said, source.Value{Kind: source.Map, Line: v.Line, Fields: []source.Field{
				{Name: "role", Value: source.Text("system")},
				{Name: "content", Value: source.Value{Kind: source.List, Items: parts}},
			}})
		}
	}
	for _, list := range []source.Value{input, attributes["gen_ai.output.messages"]} {
		for _, m := range r.structured(list, v.Line) {
			s.said = append(s.said, r.spokenParts(m, v.Line))
		}
	}
	s.unsupported = r.taken()
	return s, true
}

// attributesOf returns the attributes of a span or an event by their names.
func attributesOf(v source.Value) map[string]source.Value {
	all := map[string]source.Value{}
	for _, a := range within(v, "attributes") {
		key, _ := a.Get("key")
		value, _ := a.Get("value")
		all[key.Scalar] = anyValue(value, 0)
	}
	return all
}

// maxNested bounds values within values.
const maxNested = 50

// anyValue returns a value of OTLP as a plain one.
func anyValue(v source.Value, depth int) source.Value {
	if depth > maxNested {
		return source.Value{}
	}
	for _, f := range v.Fields {
		switch f.Name {
		case "stringValue", "boolValue", "intValue", "doubleValue":
			return f.Value
		case "arrayValue":
			list := source.Value{Kind: source.List, Line: f.Line}
			for _, item := range within(f.Value, "values") {
				list.Items = append(list.Items, anyValue(item, depth+1))
			}
			return list
		case "kvlistValue":
			m := source.Value{Kind: source.Map, Line: f.Line}
			for _, item := range within(f.Value, "values") {
				key, _ := item.Get("key")
				value, _ := item.Get("value")
				if !has(m, key.Scalar) {
					m.Fields = append(m.Fields, source.Field{Name: key.Scalar, Value: anyValue(value, depth+1)})
				}
			}
			return m
		}
	}
	return source.Value{}
}

// structured returns a list that stands as it is, or as JSON in a text.
func (r *reader) structured(v source.Value, line int) []source.Value {
	if v.Kind == source.String {
		parsed, err := source.ParseJSON(r.file, []byte(v.Scalar), line)
		if err != nil || parsed.Kind != source.List {
			v.Line = line
			r.unsupported(one("messages", v), "messages of a span", "they are no list in JSON")
			return nil
		}
		v = parsed
	}
	return v.Items
}

// spokenParts returns {role, parts} as a message with a content and tool calls.
func (r *reader) spokenParts(m source.Value, line int) source.Value {
	out := source.Value{Kind: source.Map, Line: line}
	parts := source.Value{Kind: source.List, Line: line}
	calls := source.Value{Kind: source.List, Line: line}
	role := source.Value{}
	for _, f := range m.Fields {
		switch f.Name {
		case "role":
			role = f.Value
		case "finish_reason": // of a reply that was recorded
		case "parts":
			for _, part := range f.Value.Items {
				part.Line = line
				switch kind, _ := part.Get("type"); kind.Scalar {
				case "tool_call":
					calls.Items = append(calls.Items, part)
				case "tool_call_response", "reasoning", "thinking":
					r.ignore(line, "a part of a message of the type "+kind.Scalar,
						"the agent calls its own tools and thinks for itself")
				default:
					parts.Items = append(parts.Items, part)
				}
			}
		default:
			f.Line, f.Value.Line = line, line
			out.Fields = append(out.Fields, f)
		}
	}
	out.Fields = append(out.Fields, source.Field{Name: "role", Value: role, Line: line}, source.Field{
		Name: "content", Value: parts, Line: line,
	}, source.Field{Name: "tool_calls", Value: calls, Line: line})
	return withoutRepeats(out)
}

// withoutRepeats returns a mapping without later entries of the same name.
func withoutRepeats(v source.Value) source.Value {
	seen := map[string]bool{}
	v.Fields = slices.DeleteFunc(v.Fields, func(f source.Field) bool {
		twice := seen[f.Name]
		seen[f.Name] = true
		return twice
	})
	return v
}

// conversation is what was said in a conversation, as far as it is known.
type conversation struct {
	line        int
	said        []source.Value
	unsupported []any
	keys        []string
	known       map[string]bool
}

// add takes the messages of a further request: it repeats what was said before it, or goes on from there.
func (t *conversation) add(more []source.Value) {
	keys := make([]string, len(more))
	for i, v := range more {
		role, _ := v.Get("role")
		content, _ := v.Get("content")
		calls, _ := v.Get("tool_calls")
		keys[i] = role.Scalar + "\x00" + toJSON(content) + toJSON(calls)
	}
	n := 0
	for n < len(t.keys) && n < len(keys) && t.keys[n] == keys[n] {
		n++
	}
	repeats := n == len(t.keys)
	for i := n; i < len(more); i++ {
		if repeats || !t.known[keys[i]] {
			t.said, t.keys = append(t.said, more[i]), append(t.keys, keys[i])
		}
		t.known[keys[i]] = true
	}
}
