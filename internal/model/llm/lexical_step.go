package llm

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

// choose returns the ID of the option that a text means, "" when there is none to choose.
func (m *Menu) choose(text string) string {
	ranked := m.Rank(text)
	switch {
	case len(ranked) == 0, ranked[0].Score < lexicalLeast, len(ranked) > 1 &&
		ranked[0].Score-ranked[1].Score < lexicalMargin:
		return m.certain(nil)
	}
	return ranked[0].ID
}

// certain returns the ID that is always accepted: to stay, else the first of those that a tool says it allows, else the
// first.
func (m *Menu) certain(allowed []any) string {
	switch {
	case m.stay != "":
		return m.stay
	case len(allowed) > 0:
		return fmt.Sprint(allowed[0])
	case len(m.options) > 0:
		return m.options[0].ID
	}
	return ""
}

// call returns the reply that calls a tool with an option.
func (m *Menu) call(r *Request, tool, id string) (chat.Reply, error) {
	if id == "" {
		return chat.Reply{}, &Error{
			Fault: Refused, Model: lexicalName, Attempts: 1,
			Message: "the menu of the tool " + tool + " has no options", Hint: "give it at least one, or a way to stay",
		}
	}
	args := map[string]string{m.argument: id}
	maps.Copy(args, m.Fixed)
	encoded, err := encodeJSON(args)
	if err != nil {
		return chat.Reply{}, err
	}
	return chat.Reply{ToolCalls: []chat.ToolCall{{ID: callID(len(r.Messages), 1), Name: tool, Args: encoded}}}, nil
}

// again is what the user is told when the tool that was called returned nothing to say.
const again = "Could you say that in other words?"

// stepResult is what a tool says about the step that was chosen.
type stepResult struct {
	failed       bool
	allowed      []any
	prompt       string
	instructions string
}

// readStep reads the tool message at i; nil when there is none.
func readStep(messages []chat.Message, i int) *stepResult {
	if i < 0 {
		return nil
	}
	var said struct {
		Error   any   `json:"error"`
		Allowed []any `json:"allowed"`
		Next    *struct {
			Prompt string `json:"prompt"`
		} `json:"next_node_descriptor"`
		Instructions string `json:"instructions"`
	}
	if json.Unmarshal([]byte(messages[i].Content.String()), &said) != nil {
		return &stepResult{}
	}
	s := &stepResult{failed: said.Error != nil, allowed: said.Allowed, instructions: said.Instructions}
	if said.Next != nil {
		s.prompt = said.Next.Prompt
	}
	return s
}

// text returns the prompt or, without one, what the instructions tell to say: what stands behind their first colon.
// Instructions that end with the colon tell nothing, and are not for the user.
func (s stepResult) text() string {
	_, told, colon := strings.Cut(s.instructions+" ", ": ")
	texts := []string{s.prompt, told}
	if !colon {
		texts = append(texts, s.instructions)
	}
	for _, text := range texts {
		if text = strings.TrimSpace(text); text != "" {
			return text
		}
	}
	return again
}
