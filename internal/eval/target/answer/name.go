package answer

import (
	"maps"
	"slices"
	"strings"
)

// maxDepth is how many names deep a reply is looked for.
const maxDepth = 5

// names are those of a reply, the likeliest first.
func names() []string {
	return []string{
		"reply", "response", "answer", "output", "output_text", "message", "text", "content", "result", "completion",
		"delta", "token", "data", "choices", "messages",
	}
}

// position is a value in an answer, and the way to it: the place that it is in, and its name there, or its number in a
// list of so many.
type position struct {
	value     any
	in        *position
	name      string
	at, among int
}

// byName looks for a reply by its name, breadth first: a text or, where there is none, a number or a boolean. Of an
// event of a stream it takes texts alone, because events are full of numbers.
func byName(doc any, streamed bool) (string, bool) {
	text, _, ok := named(doc, streamed)
	return text, ok
}

// named returns the reply with its place. Messages of the agent that follow each other are one reply.
func named(doc any, streamed bool) (string, *position, bool) {
	if s, ok := scalar(doc); ok {
		return s, &position{value: doc}, true
	}
	s, at, ok := breadthFirst(doc, prosaic)
	if ok && !streamed {
		s = strings.Join(append(at.before(), s), betweenMessages)
	}
	if ok || streamed {
		return s, at, ok
	}
	return breadthFirst(doc, scalar)
}

// prosaic returns the words of a text or a list.
func prosaic(v any) (string, bool) {
	switch v.(type) {
	case string, []any:
		return words(v)
	}
	return "", false
}

// before returns the texts of the agent's messages directly before the one that holds a place.
func (p *position) before() (texts []string) {
	for ; p != nil && !(p.among > 0 && speaks(p.value)); p = p.in {
	}
	if p == nil {
		return nil
	}
	list, _ := p.in.value.([]any)
	for _, message := range slices.Backward(list[:p.at]) {
		if !speaks(message) {
			break
		}
		if s, _, ok := breadthFirst(message, prosaic); ok && s != "" {
			texts = append(texts, s)
		}
	}
	slices.Reverse(texts)
	return texts
}

func breadthFirst(doc any, reply func(any) (string, bool)) (string, *position, bool) {
	level := lookedInto(nil, &position{value: doc})
	for range maxDepth + 1 {
		var next []*position
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
					next = lookedInto(next, &position{value: inside, in: p, name: name})
				}
			}
		}
		level = next
	}
	return "", nil, false
}

// lookedInto appends a place or, of a list that holds no texts of one reply, that of the element that may hold the
// reply.
func lookedInto(to []*position, p *position) []*position {
	for {
		list, ok := p.value.([]any)
		if !ok || isBlocks(list) || p.name != "choices" && isMessages(list) {
			break
		}
		i := speaking(list)
		if i < 0 || list[i] == nil {
			return to
		}
		p = &position{value: list[i], in: p, at: i, among: len(list)}
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

// isMessages reports whether a list is one of messages without roles: each is a text, or has a text and no type.
// Choices are not: the agent gives one reply in several wordings.
func isMessages(list []any) bool {
	for _, element := range list {
		message, isMap := element.(map[string]any)
		_, isText := element.(string)
		if isMap {
			_, isText = message["text"].(string)
		}
		if !isText || roleOf(element) != "" || isMap && message["type"] != nil {
			return false
		}
	}
	return len(list) > 0
}

// speaking returns the place of the last element of a list or, where elements have roles, of the last one of an agent;
// -1 where there is none.
func speaking(list []any) int {
	roles := false
	for i, element := range slices.Backward(list) {
		role := roleOf(element)
		if speaks(element) {
			return i
		}
		roles = roles || role != ""
	}
	if roles {
		return -1
	}
	return len(list) - 1
}

// speaks reports whether a message is the agent's.
func speaks(element any) bool {
	return slices.Contains([]string{"assistant", "ai", "bot", "agent", "model"}, roleOf(element))
}

// reasonNames are the names of what says why a reply ended.
var reasonNames = []string{"finish_reason", "finishReason", "stop_reason", "stopReason"}

// reasonByName looks for what says why a reply ended, breadth first: of several at one depth it takes the last. It
// returns "" where there is none.
func reasonByName(doc any) (reason string) {
	level := []any{doc}
	for depth := 0; depth <= maxDepth && reason == ""; depth++ {
		var next []any
		for _, v := range level {
			switch v := v.(type) {
			case []any:
				next = append(next, v...)
			case map[string]any:
				for _, name := range reasonNames {
					if s, ok := v[name].(string); ok && s != "" {
						reason = s
					}
				}
				for _, name := range slices.Sorted(maps.Keys(v)) {
					next = append(next, v[name])
				}
			}
		}
		level = next[:min(len(next), maxTexts)]
	}
	return reason
}

// roleOf returns who speaks in a message, in lower case; empty for what is none. Some formats write the role as the
// type.
func roleOf(element any) string {
	m, _ := element.(map[string]any)
	if role, ok := m["role"].(string); ok {
		return strings.ToLower(role)
	}
	kind, _ := m["type"].(string)
	if kind = strings.ToLower(kind); slices.Contains([]string{
		"human", "user", "system", "tool", "ai", "assistant",
	}, kind) {
		return kind
	}
	return ""
}
