package flow

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

// Defaults of the history window.
const (
	defaultWindowMessages = 12
	defaultWindowTokens   = 3000
	// maxMessageTokens bounds a message of the last pair. The window always contains that pair.
	maxMessageTokens = 2000
)

// tokens estimates a message's tokens: a quarter of its characters, and 4 for the frame.
func tokens(text string) int { return (utf8.RuneCountInString(text)+3)/4 + 4 }

// window returns the newest messages that fit, at least the last exchange, beginning with a user's message.
// It reads no more of the history than it returns, so its cost does not grow with the conversation.
func window(history []Message, l Limits) []Message {
	most, budget := defaultWindowMessages, defaultWindowTokens
	if l.WindowMessages != nil {
		most = *l.WindowMessages
	}
	if l.WindowTokens != nil {
		budget = *l.WindowTokens
	}
	pair := lastPair(history)
	chosen := make([]Message, 0, min(most, len(history))+2)
	used := 0
	for i, m := range slices.Backward(history) { // newest first

		if i >= pair {
			m.Content = cutMiddle(m.Content)
		}
		cost := tokens(m.Content)
		if i < pair && (len(chosen) >= most || used+cost > budget) {
			break
		}
		used += cost
		chosen = append(chosen, m)
	}
	for i, j := 0, len(chosen)-1; i < j; i, j = i+1, j-1 {
		chosen[i], chosen[j] = chosen[j], chosen[i]
	}
	for len(chosen) > 0 && chosen[0].Role == chat.Assistant {
		chosen = chosen[1:]
	}
	return chosen
}

// maxPairSearch bounds how far back the last exchange is searched for; a history without user messages has none.
const maxPairSearch = 8

// lastPair returns the index of the user message that opens the last exchange.
func lastPair(history []Message) int {
	answered := false
	for i := len(history) - 1; i >= 0 && i >= len(history)-maxPairSearch; i-- {
		switch history[i].Role {
		case chat.Assistant:
			answered = true
		case chat.User:
			if answered {
				return i
			}
		}
	}
	return max(0, len(history)-2)
}

// cutMiddle shortens a text that is too long for the last pair. It keeps the beginning and the end, which say most.
func cutMiddle(text string) string {
	if tokens(text) <= maxMessageTokens {
		return text
	}
	const mark = "\n[…]\n"
	keep := (maxMessageTokens-4)*4 - utf8.RuneCountInString(mark)
	runes := []rune(text)
	var b strings.Builder
	b.WriteString(string(runes[:keep/2]))
	b.WriteString(mark)
	b.WriteString(string(runes[len(runes)-(keep-keep/2):]))
	return b.String()
}

// contract is what every system message asks of the model, besides the flow's own prompts.
const contract = `You hold a conversation along a flow of nodes. In every turn call process_node exactly once before you answer, ` +
	`to say where the conversation goes; its result tells you how to answer. Then answer the user. ` +
	`Never mention nodes, options or tools to the user.`

// systemText is the first message of every prompt at a node. It depends on the flow and on what the node offers only.
func systemText(f *Flow, n *Node, shown *Descriptor) string {
	var b strings.Builder
	for _, text := range slices.Concat([]string{f.SystemPrompt}, n.within) {
		if !blank(text) {
			b.WriteString(strings.TrimSpace(text) + "\n\n")
		}
	}
	b.WriteString(contract + "\n\nThe current node is:\n")
	b.Write(compact(shown))
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

// prompt assembles the messages of the turn's first request. Empty facts and an empty summary are
// left out.
func prompt(system string, memory Memory, window []Message, user string) []chat.Message {
	messages := make([]chat.Message, 0, len(window)+8) // room for the tool loop
	messages = append(messages, chat.NewMessage(chat.System, system))
	if facts := memory.factsText(); facts != "" {
		messages = append(messages, chat.NewMessage(chat.System, facts))
	}
	if summary := memory.summaryText(); summary != "" {
		messages = append(messages, chat.NewMessage(chat.System, summary))
	}
	for _, m := range window {
		messages = append(messages, chat.NewMessage(m.Role, m.Content))
	}
	return append(messages, chat.NewMessage(chat.User, user))
}
