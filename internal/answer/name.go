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

// byName looks for a reply by its name, breadth first: a text or, where there is none, a number or a boolean. Of an event of a stream it takes
// texts alone, because events are full of numbers.
func byName(doc any, streamed bool) (string, bool) {
	if s, ok := scalar(doc); ok {
		return s, true
	}
	if s, ok := breadthFirst(doc, func(v any) (string, bool) {
		switch v.(type) {
		case string, []any:
			return words(v)
		}
		return "", false
	}); ok || streamed {
		return s, ok
	}
	return breadthFirst(doc, scalar)
}

func breadthFirst(doc any, reply func(any) (string, bool)) (string, bool) {
	level := lookedInto(nil, doc)
	for range maxDepth + 1 {
		var next []any
		for _, v := range level {
			if s, ok := reply(v); ok {
				return s, true
			}
			m, ok := v.(map[string]any)
			if !ok {
				continue
			}
			for _, name := range names() {
				next = lookedInto(next, m[name])
			}
		}
		level = next
	}
	return "", false
}

// lookedInto appends a value or, of a list that is no list of content blocks, the element that may hold the reply.
func lookedInto(to []any, v any) []any {
	for {
		list, ok := v.([]any)
		if !ok || isBlocks(list) {
			break
		}
		if v = speaking(list); v == nil {
			break
		}
	}
	if v == nil {
		return to
	}
	return append(to, v)
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

// speaking returns the last element of a list or, where elements have roles, the last one of an agent; nil where there is none.
func speaking(list []any) any {
	roles := false
	for _, element := range slices.Backward(list) {
		role := roleOf(element)
		if slices.Contains([]string{"assistant", "ai", "bot", "agent", "model"}, role) {
			return element
		}
		roles = roles || role != ""
	}
	if roles || len(list) == 0 {
		return nil
	}
	return list[len(list)-1]
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
