package target

import (
	"encoding/json"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

// withResults returns messages in which a tool message follows for each call of an assistant: providers refuse a
// history that lacks one. Tool messages that are there stay as they are.
func withResults(messages []chat.Message) []chat.Message {
	complete := make([]chat.Message, 0, len(messages))
	for i, m := range messages {
		complete = append(complete, m)
		if len(m.ToolCalls) == 0 && m.Role != chat.Tool || i+1 < len(messages) && messages[i+1].Role == chat.Tool {
			continue
		}
		// This is the last message of a group: an assistant's with calls, and the results that follow it.
		first := i
		for first > 0 && messages[first].Role == chat.Tool {
			first--
		}
		complete = append(complete, results(messages[first].ToolCalls, messages[first+1:i+1])...)
	}
	return slices.Clip(complete)
}

// results returns a tool message for each call that none of the given ones answers.
func results(calls []chat.ToolCall, given []chat.Message) []chat.Message {
	var messages []chat.Message
	for _, call := range calls {
		if !slices.ContainsFunc(given, func(m chat.Message) bool { return m.ToolCallID == call.ID }) {
			messages = append(messages, chat.Message{
				Role: chat.Tool, ToolCallID: call.ID, Content: chat.Content{Text: resultOf(call)},
			})
		}
	}
	return messages
}

// resultOf returns what the model reads as the result of a call: what is known of it, or that it was not carried out.
func resultOf(call chat.ToolCall) string {
	if len(call.Result) > 0 {
		return string(call.Result)
	}
	data, err := json.Marshal(map[string]string{"error": "the tool " + call.Name + " was not carried out"})
	if err != nil { // a text is always JSON
		return "error"
	}
	return string(data)
}
