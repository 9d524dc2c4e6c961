package llm

import (
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

// scene is what the conditions of a rule look at, and what templates are filled from.
// What only some rules need is found when one of them asks.
type scene struct {
	model, user string
	turn, call  int
	request     *Request
	// results is the index of the first of the tool results at the end of the request; without one it is the number of
	// messages.
	results int
	// system joins the system messages, once joined is set.
	system string
	joined bool
	// groups are the captures of the matching rule's pattern; groups[0] is what it matched.
	groups    []string
	constants *constants
	// missing is the first constant that a template asked for and no offered tool has.
	missing string
}

func newScene(model string, r *Request, c *constants) *scene {
	v := &scene{model: model, request: r, results: len(r.Messages), constants: c}
	for v.results > 0 && r.Messages[v.results-1].Role == chat.Tool {
		v.results--
	}
	last := -1
	for i := range r.Messages {
		if r.Messages[i].Role == chat.User {
			v.turn++
			last = i
		}
	}
	if last >= 0 {
		v.user = r.Messages[last].Content.String()
	}
	return v
}

func (v *scene) systemText() string {
	if v.joined {
		return v.system
	}
	v.joined = true
	for i := range v.request.Messages {
		if m := &v.request.Messages[i]; m.Role == chat.System {
			if v.system != "" {
				v.system += "\n"
			}
			v.system += m.Content.String()
		}
	}
	return v.system
}

// assistantText returns what the assistant said last; calls of tools say nothing.
func (v *scene) assistantText() string {
	for _, m := range slices.Backward(v.request.Messages) {
		if m.Role == chat.Assistant && !m.Content.Empty() {
			return m.Content.String()
		}
	}
	return ""
}

// ends reports whether the request ends as after says: with the user's message, or with a result of any or a certain
// tool.
func (v *scene) ends(after string) bool {
	switch after {
	case "":
		return true
	case afterUser:
		n := len(v.request.Messages)
		return n > 0 && v.request.Messages[n-1].Role == chat.User
	}
	for i := v.results; i < len(v.request.Messages); i++ {
		if v.isResult(i, after) {
			return true
		}
	}
	return false
}

// isResult reports whether a tool message is one that after names.
func (v *scene) isResult(i int, after string) bool {
	return after == "" || after == afterTool || calledTool(v.request.Messages, i) == after
}

// calledTool returns the name of the tool whose result the message at i is; "" when nothing before it called one.
func calledTool(messages []chat.Message, i int) string {
	for before := i - 1; before >= 0; before-- {
		for c := range messages[before].ToolCalls {
			if call := &messages[before].ToolCalls[c]; call.ID == messages[i].ToolCallID {
				return call.Name
			}
		}
	}
	return ""
}

func (v *scene) offers(tool string) bool {
	return slices.ContainsFunc(v.request.Tools, func(t Tool) bool { return t.Name == tool })
}

// constant returns the `const` of a parameter of an offered tool; the first tool that has one counts.
func (v *scene) constant(name string) (string, bool) {
	for i := range v.request.Tools {
		if value, ok := v.constants.of(v.request.Tools[i].Parameters)[name]; ok {
			return value, true
		}
	}
	return "", false
}

// words estimates the tokens of the request.
func (v *scene) words() int {
	n := 0
	for i := range v.request.Messages {
		n += countWords(v.request.Messages[i].Content.String())
	}
	return n
}
