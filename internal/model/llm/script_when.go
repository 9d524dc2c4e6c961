package llm

import "regexp"

// The words of `after` that are not names of tools.
const (
	afterUser = "user"
	afterTool = "tool"
)

// condition is a rule's `when`; what is unset matches everything.
type condition struct {
	user, system, model, result, assistant, node *regexp.Regexp
	tools                                        []string
	turn, call                                   int
	after, choice                                string
	args                                         []argument
}

// argument is what the constant of a tool's parameter has to be: a text, or what a whole pattern matches.
type argument struct {
	name, text string
	pattern    *regexp.Regexp
}

func (a *argument) matches(v *scene) bool {
	value, ok := v.constant(a.name)
	switch {
	case !ok:
		return false
	case a.pattern == nil:
		return value == a.text
	}
	return a.pattern.MatchString(value)
}

// matches also stores the captures for the templates. What costs least is asked first.
func (c *condition) matches(v *scene) bool {
	return c.fits(v) && c.offered(v) && c.said(v) && c.capture(v)
}

func (c *condition) fits(v *scene) bool {
	switch {
	case c.turn != 0 && c.turn != v.turn, c.call != 0 && c.call != v.call:
		return false
	case c.choice != "" && c.choice != orElse(v.request.ToolChoice, "auto"):
		return false
	}
	return v.ends(c.after)
}

func (c *condition) offered(v *scene) bool {
	for _, tool := range c.tools {
		if !v.offers(tool) {
			return false
		}
	}
	for i := range c.args {
		if !c.args[i].matches(v) {
			return false
		}
	}
	return true
}

func (c *condition) said(v *scene) bool {
	return (c.model == nil || c.model.MatchString(v.model)) &&
		(c.node == nil || c.node.MatchString(v.request.Node)) &&
		(c.system == nil || c.system.MatchString(v.systemText())) &&
		(c.assistant == nil || c.assistant.MatchString(v.assistantText()))
}

// capture matches the patterns of user and result and keeps the groups of the one that fills the templates.
func (c *condition) capture(v *scene) bool {
	result, found := c.findResult(v)
	if !found || c.user != nil && !c.user.MatchString(v.user) { // cheaper than finding the groups, and most rules don't match
		return false
	}
	switch from := c.captures(); {
	case from.pattern == nil:
		v.groups = []string{v.user}
	case from.pattern == c.result:
		v.groups = c.result.FindStringSubmatch(result)
	default:
		v.groups = c.user.FindStringSubmatch(v.user)
	}
	return true
}

// findResult returns the last result of a tool that matches, of the tool that after names.
func (c *condition) findResult(v *scene) (string, bool) {
	if c.result == nil {
		return "", true
	}
	for i := len(v.request.Messages) - 1; i >= v.results; i-- {
		if text := v.request.Messages[i].Content.String(); v.isResult(i, c.after) && c.result.MatchString(text) {
			return text, true
		}
	}
	return "", false
}

// captures says which pattern's groups the templates of a rule use: that of user or, if it has no groups, that of
// result.
func (c *condition) captures() captures {
	if c.result != nil && (c.user == nil || c.user.NumSubexp() == 0) {
		return captures{c.result, "result"}
	}
	return captures{c.user, "user"}
}
