package answer

import (
	"slices"
	"strings"
)

// maxDepth is how many names deep a reply is looked for.
const maxDepth = 5

// names are those of a reply, the likeliest first.
func names() []string {
	return []string{
		"reply", "response", "answer", "output", "output_text", "message", "text", "content", "result", "completion", "delta", "token", "data",
		"choices", "messages",
	}
}

// place is a value in an answer, and the way to it: the place that it is in, and its name there, or its number in a list of so many.
type place struct {
	value     any
	in        *place
	name      string
	at, among int
}

// byName looks for a reply by its name, breadth first: a text or, where there is none, a number or a boolean. Of an event of a stream it takes
// texts alone, because events are full of numbers.
func byName(doc any, streamed bool) (string, bool) {
	text, _, ok := named(doc, streamed)
	return text, ok
}

// named returns the reply with its place.
func named(doc any, streamed bool) (string, *place, bool) {
	if s, ok := scalar(doc); ok {
		return s, &place{value: doc}, true
	}
	if s, at, ok := breadthFirst(doc, func(v any) (string, bool) {
		switch v.(type) {
		case string, []any:
			return words(v)
		}
		return "", false
	}); ok || streamed {
		return s, at, ok
	}
	return breadthFirst(doc, scalar)
}

func breadthFirst(doc any, reply func(any) (string, bool)) (string, *place, bool) {
	level := lookedInto(nil, &place{value: doc})
	for range maxDepth + 1 {
		var next []*place
		for _, p := range level {
			if s, ok := reply(p.value); ok {
				return s, p, true
			}
			m, ok := p.value.(map[string]any)
			if !ok {
				continue
			}
			for _, name := range names() {
				if inside := m[name]; inside != nil {
					next = lookedInto(next, &place{value: inside, in: p, name: name})
				}
			}
		}
		level = next
	}
	return "", nil, false
}

// lookedInto appends a place or, of a list that is no list of content blocks, that of the element that may hold the reply.
func lookedInto(to []*place, p *place) []*place {
	for {
		list, ok := p.value.([]any)
		if !ok || isBlocks(list) {
			break
		}
		i := speaking(list)
		if i < 0 || list[i] == nil {
			return to
		}
		p = &place{value: list[i], in: p, at: i, among: len(list)}
	}
	if p.value == nil {
		return to
	}
	return append(to, p)
}

// isBlocks reports whether a list is one of content blocks: each has a type, some have a text, and none has a role.
func isBlocks(list []any) bool {
	texts := false
	for _, element := range list {
		block, ok := element.(map[string]any)
		if !ok || block["role"] != nil {
			return false
		}
		if _, typed := block["type"].(string); !typed {
			return false
		}
		_, text := block["text"].(string)
		texts = texts || text
	}
	return texts
}

// speaking returns the place of the last element of a list or, where elements have roles, of the last one of an agent; -1 where there is none.
func speaking(list []any) int {
	roles := false
	for i, element := range slices.Backward(list) {
		role := roleOf(element)
		if slices.Contains([]string{"assistant", "ai", "bot", "agent", "model"}, role) {
			return i
		}
		roles = roles || role != ""
	}
	if roles {
		return -1
	}
	return len(list) - 1
}

// roleOf returns who speaks in a message, in lower case; empty for what is none. Some formats write the role as the type.
func roleOf(element any) string {
	m, _ := element.(map[string]any)
	if role, ok := m["role"].(string); ok {
		return strings.ToLower(role)
	}
	kind, _ := m["type"].(string)
	if kind = strings.ToLower(kind); slices.Contains([]string{"human", "user", "system", "tool", "ai", "assistant"}, kind) {
		return kind
	}
	return ""
}
