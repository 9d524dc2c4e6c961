package llm

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

// dialogue is a conversation for providers whose roles alternate, beginning with the user, and whose system text stands
// apart.
type dialogue struct {
	system string
	turns  []turn
}

// turn is what one side says until the other one speaks.
type turn struct {
	role chat.Role // User or Assistant
	// results answer the calls of the assistant's turn before, one for each, in their order.
	results []callResult
	said    []chat.Message
	// calls are those of an assistant's turn, with the IDs that go over the wire. Only the last message of a turn has
	// any.
	calls []chat.ToolCall
}

// callResult is the answer to a tool call.
type callResult struct {
	call chat.ToolCall
	// text is what the tool answered.
	text string
}

const (
	// beforeUser stands where a conversation begins with the assistant, silence for a message without text: providers
	// refuse both.
	beforeUser = "(The assistant begins.)"
	silence    = "(empty message)"
	// notAnswered is the result of a call that a conversation does not answer.
	notAnswered = `{"error":"the tool was not carried out"}`
)

// alternate arranges messages. Each call is answered in the user's turn behind it, also where the messages lack an
// answer.
func alternate(messages []chat.Message) dialogue {
	a := arranging{ids: callIDs{fit: plainCallID, unique: true}}
	for _, m := range messages {
		switch m.Role {
		case chat.System:
			if !m.Content.Empty() {
				a.system = append(a.system, m.Content.String())
			}
		case chat.Assistant:
			a.assistant(m)
		case chat.Tool:
			a.tool(m)
		default:
			if m.Content.Empty() {
				m.Content = chat.Content{Text: silence}
			}
			last := a.last(chat.User)
			last.said = append(last.said, m)
		}
	}
	a.answerAll()
	// what the model goes on from may not end in white space
	if n := len(a.turns); n > 0 && a.turns[n-1].role == chat.Assistant {
		said := a.turns[n-1].said
		said[len(said)-1].Content = chat.Content{Text: strings.TrimSpace(said[len(said)-1].Content.String())}
	}
	d := dialogue{system: strings.Join(a.system, "\n\n"), turns: a.turns}
	switch {
	case len(d.turns) == 0: // instructions alone are what is asked
		d.turns, d.system = []turn{{
			role: chat.User, said: []chat.Message{chat.NewMessage(chat.User, orElse(d.system, silence))},
		}}, ""
	case d.turns[0].role == chat.Assistant:
		d.turns = slices.Insert(d.turns, 0, turn{
			role: chat.User, said: []chat.Message{chat.NewMessage(chat.User, beforeUser)},
		})
	}
	return d
}

type arranging struct {
	system []string
	turns  []turn
	ids    callIDs
	// open are the calls of the latest assistant's turn that have no answer yet.
	open []chat.ToolCall
	// given are the answers to the calls of that turn by their IDs on the wire.
	given map[string]string
}

// last returns the turn of a role at the end, a new one if the other side has spoken.
func (a *arranging) last(role chat.Role) *turn {
	if len(a.turns) == 0 || a.turns[len(a.turns)-1].role != role {
		a.turns = append(a.turns, turn{role: role})
	}
	return &a.turns[len(a.turns)-1]
}

func (a *arranging) assistant(m chat.Message) {
	if m.Content.Empty() && len(m.ToolCalls) == 0 {
		return
	}
	a.answerAll()
	t := a.last(chat.Assistant)
	if len(m.ToolCalls) > 0 {
		a.ids.message()
		a.given = map[string]string{}
		for _, call := range m.ToolCalls {
			call.ID = a.ids.call(call.ID)
			t.calls = append(t.calls, call)
		}
		a.open = t.calls
	}
	t.said = append(t.said, m)
}

// tool keeps an answer for its call. One that answers no call is something that the user says.
func (a *arranging) tool(m chat.Message) {
	text := m.Content.String()
	if id, ok := a.ids.answer(m.ToolCallID); ok && len(a.open) > 0 {
		a.given[id] = text
		return
	}
	t := a.last(chat.User)
	t.said = append(t.said, chat.NewMessage(chat.User, "Result of a tool: "+orElse(strings.TrimSpace(text), silence)))
}

// answerAll writes the answers to the open calls into the user's turn behind them.
func (a *arranging) answerAll() {
	if len(a.open) == 0 {
		return
	}
	t := a.last(chat.User)
	for _, call := range a.open {
		text, ok := a.given[call.ID]
		if !ok {
			text = notAnswered
		}
		t.results = append(t.results, callResult{call, text})
	}
	a.open = nil
}

// argsObject returns the arguments of a call as the object that some providers want. What isn't one is put into one.
func argsObject(args json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(args, &fields) == nil && fields != nil {
		return args
	}
	if len(args) == 0 || string(args) == "null" {
		return json.RawMessage("{}")
	}
	data, err := json.Marshal(map[string]string{"arguments": FormatArgs(args)})
	if err != nil { // a text is always JSON
		return json.RawMessage("{}")
	}
	return data
}

// dataURL splits a data: URL with base64 content; ok is false for any other URL.
func dataURL(url string) (mediaType, data string, ok bool) {
	rest, ok := strings.CutPrefix(url, "data:")
	if !ok {
		return "", "", false
	}
	head, data, ok := strings.Cut(rest, ",")
	mediaType, based := strings.CutSuffix(head, ";base64")
	mediaType, _, _ = strings.Cut(mediaType, ";")
	return mediaType, data, ok && based
}
