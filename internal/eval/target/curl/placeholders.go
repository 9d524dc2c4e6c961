package curl

import (
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

const (
	message      = "{{message}}"
	conversation = "{{conversation_id}}"
)

// The names under which agents expect the user's message and the id of the conversation. Those of the message stand in
// the order in which they are looked for.
var (
	messageNames = []string{
		"message", "input", "text", "query", "question", "prompt", "content", "msg", "utterance",
	}
	conversationNames = []string{
		"session_id", "sessionId", "conversation_id", "conversationId", "thread_id", "threadId", "chat_id", "chatId",
		"session", "sender",
	}
)

// ConversationName reports whether agents expect the id of a conversation under a name.
func ConversationName(name string) bool { return slices.Contains(conversationNames, name) }

// step leads from a value to one within it: a field by its place in the mapping, or an item by its place in the list.
type step int

// insertMessage returns the value with the placeholder of the message in it. It looks breadth first: an object's names
// in their order before the objects within it.
func insertMessage(v source.Value) (source.Value, bool) {
	type place struct {
		value source.Value
		path  []step
	}
	for level := []place{{v, nil}}; len(level) > 0; {
		var next []place
		for _, at := range level {
			if path, ok := messageIn(at.value); ok {
				return replaced(v, slices.Concat(at.path, path), message), true
			}
			for i := range size(at.value) {
				next = append(next, place{child(at.value, i), slices.Concat(at.path, []step{step(i)})})
			}
		}
		level = next
	}
	return v, false
}

// messageIn finds the text of the message right in an object, or in the last user's of a list of messages in it.
func messageIn(v source.Value) ([]step, bool) {
	for _, name := range append(slices.Clone(messageNames), "messages") {
		i := slices.IndexFunc(v.Fields, func(f source.Field) bool { return f.Name == name })
		if i < 0 {
			continue
		}
		value := v.Fields[i].Value
		if value.Kind == source.String && name != "messages" {
			return []step{step(i)}, true
		}
		if last := lastOfUser(value); last >= 0 {
			if path, ok := textIn(value.Items[last]); ok {
				return slices.Concat([]step{step(i), step(last)}, path), true
			}
		}
	}
	return nil, false
}

// lastOfUser returns the place of the user's last message in a list of messages; -1 for another value.
func lastOfUser(v source.Value) int {
	last := -1
	for i, item := range v.Items {
		role, ok := item.Get("role")
		if !ok {
			return -1
		}
		if role.Scalar == "user" {
			last = i
		}
	}
	return last
}

// textIn finds the text of one message: of its content, or of the first block or part of it that has one.
func textIn(m source.Value) ([]step, bool) {
	for _, name := range []string{"content", "text", "parts"} {
		for i, f := range m.Fields {
			if f.Name != name {
				continue
			}
			if f.Value.Kind == source.String {
				return []step{step(i)}, true
			}
			for j, item := range f.Value.Items {
				if path, ok := textIn(item); ok {
					return slices.Concat([]step{step(i), step(j)}, path), true
				}
			}
		}
	}
	return nil, false
}

// insertConversation returns the value with the placeholder of the conversation's id under every name of one.
func insertConversation(v source.Value) source.Value {
	for i := range size(v) {
		inside := insertConversation(child(v, i))
		if v.Kind == source.Map && ConversationName(v.Fields[i].Name) && isID(inside) {
			inside = source.Text(conversation)
		}
		v = with(v, i, inside)
	}
	return v
}

// isID reports whether a value may be an id. A text with the message is none.
func isID(v source.Value) bool {
	return v.Kind == source.Null || v.Kind == source.Number || v.Kind == source.String && v.Scalar != message
}

func size(v source.Value) int { return len(v.Fields) + len(v.Items) }

func child(v source.Value, i int) source.Value {
	if v.Kind == source.Map {
		return v.Fields[i].Value
	}
	return v.Items[i]
}

// with returns a copy of the value with another one at a place.
func with(v source.Value, i int, inside source.Value) source.Value {
	if v.Kind == source.Map {
		v.Fields = slices.Clone(v.Fields)
		v.Fields[i].Value = inside
		return v
	}
	v.Items = slices.Clone(v.Items)
	v.Items[i] = inside
	return v
}

// replaced returns a copy of the value with a text at the end of a path.
func replaced(v source.Value, path []step, text string) source.Value {
	if len(path) == 0 {
		return source.Text(text)
	}
	i := int(path[0])
	return with(v, i, replaced(child(v, i), path[1:], text))
}
