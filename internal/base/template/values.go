package template

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

// Values are what placeholders stand for in one request.
type Values struct {
	// Message is what the user says now. Silent is true of a request that says nothing, such as one that opens a
	// conversation.
	Message string
	Silent  bool
	// History is what was said before the message, with the system messages.
	History []chat.Message
	// ConversationID is the program's own id. SessionID is the one that the agent knows the conversation by; empty
	// while there is none, and then a key whose whole value is {{session_id}} is left out.
	ConversationID, SessionID string
	// Turn and Trial count from 1.
	Turn, Trial int
	TestID      string
	// Vars are the variables of the test.
	Vars   map[string]any
	MCPURL string
}

// messageText is a message as {{messages}} shows it.
type messageText struct {
	Role    chat.Role `json:"role"`
	Content string    `json:"content"`
}

// messageParts is a message as {{messages_parts}} shows it.
type messageParts struct {
	ID    string     `json:"id"`
	Role  chat.Role  `json:"role"`
	Parts []textPart `json:"parts"`
}

type textPart struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// of returns the value of a placeholder. It is a text, a number, a list of messages, or any value of the test's
// variables.
func (v *Values) of(name string) (any, error) {
	switch name {
	case "message":
		return v.Message, nil
	case "messages":
		return v.messages(!v.Silent), nil
	case "history":
		return v.messages(false), nil
	case "messages_parts":
		return v.parts(), nil
	case "system":
		return v.system(), nil
	case "conversation_id":
		return v.ConversationID, nil
	case "session_id":
		return v.SessionID, nil
	case "turn":
		return v.Turn, nil
	case "trial":
		return v.Trial, nil
	case "test_id":
		return v.TestID, nil
	case "mcp_url":
		return v.MCPURL, nil
	}
	if path, ok := strings.CutPrefix(name, "vars."); ok {
		if value, ok := Var(v.Vars, path); ok {
			return value, nil
		}
		return nil, fmt.Errorf("the test %s has no variable for {{ %s }}: add it to its vars", v.TestID, name)
	}
	return nil, fmt.Errorf("unknown placeholder {{ %s }}", name)
}

// Var returns the variable at a path like customer.name or orders.0. ok is false where there is none.
func Var(vars map[string]any, path string) (value any, ok bool) {
	value = vars
	for part := range strings.SplitSeq(path, ".") {
		switch inner := value.(type) {
		case map[string]any:
			if value, ok = inner[part]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(inner) {
				return nil, false
			}
			value = inner[i]
		default:
			return nil, false
		}
	}
	return value, true
}

func (v *Values) messages(withMessage bool) []messageText {
	list := make([]messageText, 0, len(v.History)+1)
	for _, m := range v.History {
		list = append(list, messageText{m.Role, m.Content.String()})
	}
	if withMessage {
		list = append(list, messageText{chat.User, v.Message})
	}
	return list
}

// parts gives each message an id that it keeps for the whole conversation.
func (v *Values) parts() []messageParts {
	messages := v.messages(!v.Silent)
	list := make([]messageParts, 0, len(messages))
	for i, m := range messages {
		list = append(list, messageParts{
			v.ConversationID + "-" + strconv.Itoa(i+1), m.Role, []textPart{{"text", m.Content}},
		})
	}
	return list
}

func (v *Values) system() string {
	var texts []string
	for _, m := range v.History {
		if m.Role == chat.System {
			texts = append(texts, m.Content.String())
		}
	}
	return strings.Join(texts, "\n\n")
}
