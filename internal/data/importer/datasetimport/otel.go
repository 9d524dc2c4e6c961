package datasetimport

import (
	"encoding/json"
	"strings"
)

// Spans of OpenTelemetry (OTLP as JSON) that follow the conventions for generative AI have the messages that a model
// was sent and what it answered: gen_ai.input.messages and gen_ai.output.messages, each a list of {role, parts} as
// JSON. Each such span is a conversation.

func isOTel(root any) bool {
	if list(mapping(root)["resourceSpans"]) != nil {
		return true
	}
	return list(first(root)["resourceSpans"]) != nil // a line for each export
}

func readOTel(f *file, root any) (all []conversation) {
	exports := list(root)
	if exports == nil {
		exports = []any{root}
	}
	for _, export := range exports {
		for _, resource := range list(mapping(export)["resourceSpans"]) {
			for _, scope := range list(mapping(resource)["scopeSpans"]) {
				for _, span := range list(mapping(scope)["spans"]) {
					if c, ok := spanConversation(f, mapping(span)); ok {
						all = append(all, c)
					}
				}
			}
		}
	}
	return all
}

func spanConversation(f *file, span map[string]any) (c conversation, ok bool) {
	attributes := map[string]string{}
	for _, v := range list(span["attributes"]) {
		attribute := mapping(v)
		attributes[text(attribute["key"])] = text(mapping(attribute["value"])["stringValue"])
	}
	sent := attributes["gen_ai.input.messages"]
	if sent == "" {
		f.lose("spans without gen_ai.input.messages", 1)
		return c, false
	}
	c.name = attributes["gen_ai.conversation.id"]
	if c.name == "" {
		c.name = numbered(text(span["spanId"]), 0)
	}
	for _, messages := range []string{sent, attributes["gen_ai.output.messages"]} {
		var said []any
		if json.Unmarshal([]byte(messages), &said) != nil && messages != "" {
			f.lose("messages that are no JSON", 1)
		}
		for _, v := range said {
			m := mapping(v)
			f.rest(m, "role", "parts", "finish_reason")
			c.hear(f, text(m["role"]), spanText(f, list(m["parts"])))
		}
	}
	return c, true
}

// hear adds a message to the conversation.
func (c *conversation) hear(f *file, role, said string) {
	switch {
	case role == "user" && said != "":
		c.turns = append(c.turns, turn{query: said})
	case role == "assistant" && len(c.turns) > 0:
		if last := &c.turns[len(c.turns)-1]; said != "" {
			last.answer = strings.TrimPrefix(last.answer+"\n\n"+said, "\n\n")
		}
	default:
		f.lose("messages of the role "+role, 1)
	}
}

// spanText joins the texts of a message; what else it has, such as tool calls, is counted.
func spanText(f *file, parts []any) string {
	var said []string
	for _, v := range parts {
		part := mapping(v)
		if text(part["type"]) == "text" {
			said = append(said, text(part["content"]))
		} else {
			f.lose("parts of the type "+text(part["type"]), 1)
		}
	}
	return strings.Join(said, "\n")
}
