package flow

import (
	"bytes"
	"encoding/json"
	"strings"

	"rehearse/internal/chat"
)

// contract is what every system message asks of the model, besides the flow's own prompts.
const contract = `You hold a conversation along a flow of nodes. In every turn call process_node exactly once before you answer, ` +
	`to say where the conversation goes; its result tells you how to answer. Then answer the user. ` +
	`Never mention nodes, options or tools to the user.`

// systemText is the first message of every prompt at a node. It depends on the flow and the node only, so it is made once.
func systemText(f *Flow, n *Node) string {
	var b strings.Builder
	if f.SystemPrompt != "" {
		b.WriteString(strings.TrimSpace(f.SystemPrompt) + "\n\n")
	}
	b.WriteString(contract + "\n\nThe current node is:\n")
	b.Write(compact(n.descriptor))
	return b.String()
}

// compact writes a value as JSON without escaping < and &.
func compact(v any) json.RawMessage {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return json.RawMessage(`{"error":"cannot be written as JSON"}`)
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// prompt assembles the messages of the turn's first request (flow-engine.md 3.4). Empty facts and an empty summary are left out.
func prompt(n *Node, memory Memory, window []Message, user string) []chat.Message {
	messages := make([]chat.Message, 0, len(window)+8) // room for the tool loop
	messages = append(messages, chat.Say(chat.System, n.system))
	if facts := memory.factsText(); facts != "" {
		messages = append(messages, chat.Say(chat.System, facts))
	}
	if summary := memory.summaryText(); summary != "" {
		messages = append(messages, chat.Say(chat.System, summary))
	}
	for _, m := range window {
		messages = append(messages, chat.Say(m.Role, m.Content))
	}
	return append(messages, chat.Say(chat.User, user))
}
