package llm

import (
	"regexp"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// The words of `after` that are not names of tools.
const (
	afterUser = "user"
	afterTool = "tool"
)

// condition is a rule's `when`; what is unset matches everything.
type condition struct {
	User      pattern             `key:"user"`
	System    pattern             `key:"system"`
	Model     pattern             `key:"model"`
	Assistant pattern             `key:"assistant"`
	Result    pattern             `key:"result"`
	Node      pattern             `key:"node"`
	After     string              `key:"after"`
	Choice    string              `key:"choice"`
	Args      map[string]argument `key:"args"`
	Tools     []string            `key:"tools"`
	Turn      int                 `key:"turn" minimum:"1"`
	Call      int                 `key:"call" minimum:"1"`
}

// DecodeNode reads conditions.
func (c *condition) DecodeNode(n source.Node) {
	type keys condition
	source.Decode(n, (*keys)(c))
	if c.Result.Regexp != nil && c.After == afterUser {
		n.Report("write after: tool, or the name of the tool",
			"result looks at the result of a tool, but after says that the user's message is the last")
	}
}

// pattern is a regular expression. Without one it matches everything.
type pattern struct{ *regexp.Regexp }

// DecodeNode reads a regular expression, and leaves out a broken one.
func (p *pattern) DecodeNode(n source.Node) { p.Regexp = compilePattern(n, n.Text()) }

func (p pattern) matches(text string) bool { return p.Regexp == nil || p.MatchString(text) }

func compilePattern(n source.Node, expression string) *regexp.Regexp {
	re, err := regexp.Compile(expression)
	if err != nil {
		n.Report(
			"write a Go regular expression (RE2); quote special characters with \\",
			"bad pattern: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "),
		)
		return nil
	}
	return re
}

// argument is what the constant of a tool's parameter has to be: a text, or what a whole pattern matches.
type argument struct {
	text    string
	pattern *regexp.Regexp
}

// DecodeNode reads a text, which is a pattern if it has special characters.
func (a *argument) DecodeNode(n source.Node) {
	a.text = n.Text()
	if regexp.QuoteMeta(a.text) != a.text && compilePattern(n, a.text) != nil {
		a.pattern = compilePattern(n, "^(?:"+a.text+")$")
	}
}

func (a argument) matches(value string) bool {
	if a.pattern == nil {
		return value == a.text
	}
	return a.pattern.MatchString(value)
}

// matches also stores the captures for the templates. The cheapest conditions come first.
func (c *condition) matches(v *scene) bool {
	return c.matchesRequest(v) && c.matchesTools(v) && c.matchesTexts(v) && c.capture(v)
}

func (c *condition) matchesRequest(v *scene) bool {
	switch {
	case c.Turn != 0 && c.Turn != v.turn, c.Call != 0 && c.Call != v.call:
		return false
	case c.Choice != "" && c.Choice != orElse(v.request.ToolChoice, "auto"):
		return false
	}
	return v.ends(c.After)
}

func (c *condition) matchesTools(v *scene) bool {
	for _, tool := range c.Tools {
		if !v.offers(tool) {
			return false
		}
	}
	for name, argument := range c.Args {
		if value, ok := v.constant(name); !ok || !argument.matches(value) {
			return false
		}
	}
	return true
}

func (c *condition) matchesTexts(v *scene) bool {
	return c.Model.matches(v.model) && c.Node.matches(v.request.Node) &&
		(c.System.Regexp == nil || c.System.MatchString(v.systemText())) &&
		(c.Assistant.Regexp == nil || c.Assistant.MatchString(v.assistantText()))
}

// capture matches the patterns of user and result and keeps the groups of the one that fills the templates.
func (c *condition) capture(v *scene) bool {
	result, found := c.findResult(v)
	if !found || !c.User.matches(v.user) { // cheaper than finding the groups, and most rules don't match
		return false
	}
	switch from := c.captures(); {
	case from.pattern == nil:
		v.groups = []string{v.user}
	case from.pattern == c.Result.Regexp:
		v.groups = c.Result.FindStringSubmatch(result)
	default:
		v.groups = c.User.FindStringSubmatch(v.user)
	}
	return true
}

// findResult returns the last result of a tool that matches, of the tool that after names.
func (c *condition) findResult(v *scene) (string, bool) {
	if c.Result.Regexp == nil {
		return "", true
	}
	for i := len(v.request.Messages) - 1; i >= v.results; i-- {
		if text := v.request.Messages[i].Content.String(); v.isResult(i, c.After) && c.Result.MatchString(text) {
			return text, true
		}
	}
	return "", false
}

// captures says which pattern's groups the templates of a rule use: that of user or, if it has no groups, that of
// result.
func (c *condition) captures() captures {
	if c.Result.Regexp != nil && (c.User.Regexp == nil || c.User.NumSubexp() == 0) {
		return captures{c.Result.Regexp, "result"}
	}
	return captures{c.User.Regexp, "user"}
}

// scene is what the conditions of a rule look at, and what templates are filled from.
// The parts that only some rules need are found when a rule needs them.
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
