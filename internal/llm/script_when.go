package llm

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"rehearse/internal/chat"
	"rehearse/internal/source"
)

// scene is what the conditions of a rule look at, and what templates are filled from.
type scene struct {
	model, user, system string
	tools               []string
	turn, call          int
	messages            int
	request             []chat.Message
	// groups are the captures of the matching rule's user pattern; groups[0] is what it matched.
	groups []string
}

func newScene(model string, r Request) *scene {
	v := &scene{model: model, messages: len(r.Messages), request: r.Messages}
	for _, m := range r.Messages {
		switch m.Role {
		case chat.User:
			v.turn++
			v.user = m.Content.String()
		case chat.System:
			if v.system != "" {
				v.system += "\n"
			}
			v.system += m.Content.String()
		}
	}
	for _, t := range r.Tools {
		v.tools = append(v.tools, t.Name)
	}
	return v
}

// words estimates the tokens of the request.
func (v *scene) words() int {
	n := 0
	for _, m := range v.request {
		n += countWords(m.Content.String())
	}
	return n
}

func countWords(text string) int {
	n, inside := 0, false
	for _, r := range text {
		space := unicode.IsSpace(r)
		if !space && !inside {
			n++
		}
		inside = !space
	}
	return n
}

// condition is a rule's `when`; what is unset matches everything.
type condition struct {
	user, system, model *regexp.Regexp
	tools               []string
	turn, call          int
}

// matches also stores the captures of the user pattern.
func (c *condition) matches(v *scene) bool {
	if c.turn != 0 && c.turn != v.turn || c.call != 0 && c.call != v.call {
		return false
	}
	if c.model != nil && !c.model.MatchString(v.model) || c.system != nil && !c.system.MatchString(v.system) {
		return false
	}
	for _, tool := range c.tools {
		if !slices.Contains(v.tools, tool) {
			return false
		}
	}
	if c.user == nil {
		v.groups = []string{v.user}
		return true
	}
	if !c.user.MatchString(v.user) { // cheaper than finding the groups, and most rules don't match
		return false
	}
	v.groups = c.user.FindStringSubmatch(v.user)
	return true
}

func (c *condition) read(n source.Node) {
	n.Read(map[string]func(source.Node){
		"user":   func(n source.Node) { c.user = pattern(n) },
		"system": func(n source.Node) { c.system = pattern(n) },
		"model":  func(n source.Node) { c.model = pattern(n) },
		"tools":  func(n source.Node) { c.tools = n.Texts() },
		"turn":   func(n source.Node) { c.turn = n.Int(1) },
		"call":   func(n source.Node) { c.call = n.Int(1) },
	})
}

// pattern reads a regular expression; a broken one is reported and matches everything.
func pattern(n source.Node) *regexp.Regexp {
	re, err := regexp.Compile(n.Text())
	if err != nil {
		n.Report("write a Go regular expression (RE2); quote special characters with \\", "bad pattern: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		return nil
	}
	return re
}
