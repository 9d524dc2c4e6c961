package importer

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// messages renders a prompt into messages, of which the last one is the user's. loops is true when it repeats what was
// said before.
func (p *promptfoo) messages(c *testCase, one prompt, vars source.Value) (all []message, loops bool, err error) {
	if one.lost != "" {
		return nil, false, errors.New(one.lost)
	}
	template := talkLoop().ReplaceAllString(one.text, "")
	loops = template != one.text
	if only := templateTag().FindStringSubmatch(template); only != nil && only[0] == strings.TrimSpace(template) {
		if v, found := at(vars, strings.TrimSpace(only[1])); found && isChat(v) {
			return p.spoken(c, v.Items, source.Value{}, false), loops, nil
		}
	}
	template = withoutGaps(template, loops)
	if chat, err := chatOf(template); err == nil {
		return p.spoken(c, chat, vars, true), loops, nil
	}
	inJSON := strings.HasPrefix(template, "[") || strings.HasPrefix(template, "{\"")
	text, missing, err := render(template, vars, inJSON)
	if err != nil {
		return nil, loops, fmt.Errorf("the prompt: %w, which is not filled in", err)
	}
	p.missing(c, missing)
	if chat, err := chatOf(plain(text)); err == nil {
		return p.spoken(c, chat, source.Value{}, false), loops, nil
	}
	if inJSON { // no messages after all
		if text, _, err = render(template, vars, false); err != nil {
			return nil, loops, fmt.Errorf("the prompt: %w, which is not filled in", err)
		}
	}
	return []message{{"user", text}}, loops, nil
}

// withoutGaps closes the gap that a loop leaves in a list.
func withoutGaps(template string, loops bool) string {
	template = strings.TrimSpace(template)
	if !loops || !strings.HasPrefix(template, "[") {
		return template
	}
	for _, gap := range []string{`,`, `[`} {
		parts := strings.Split(template, gap)
		for i := 0; i+1 < len(parts); i++ {
			if rest := strings.TrimLeft(parts[i+1], " \n\t\r"); gap == "[" && strings.HasPrefix(rest, ",") {
				parts[i+1] = rest[1:]
			} else if gap == "," && rest == "" && i+2 < len(parts) {
				parts = slices.Delete(parts, i+1, i+2)
				i--
			}
		}
		template = strings.Join(parts, gap)
	}
	return template
}

// spoken returns messages of a list; templates in them are filled in when render is asked for.
func (p *promptfoo) spoken(c *testCase, list []source.Value, vars source.Value, fill bool) (all []message) {
	for _, v := range list {
		e := p.settings(v, "message")
		role := e.text("role")
		said := p.content(e.get("content"))
		e.rest()
		if text, isText := said.(string); fill && isText {
			filled, missing, err := render(text, vars, false)
			if err != nil {
				p.unsupported(v, "a message of "+role, "%v, which is not filled in", err)
				continue
			}
			p.missing(c, missing)
			said = filled
		}
		switch role {
		case "developer":
			role = "system"
		case "system", "user", "assistant":
		default:
			p.unsupported(v, "a message of "+role, "suites have messages of system, user and assistant")
			continue
		}
		all = append(all, message{role, said})
	}
	return all
}

// missing lists variables that a test does not have.
func (p *promptfoo) missing(c *testCase, names []string) {
	if c.turns != nil {
		return // the turns say what the user says
	}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		p.lose(c.line, "{{"+name+"}}", "the test has no such variable: nothing stands in its place")
	}
}

// earlier returns what vars._conversation says was said before.
func earlier(vars source.Value) (all []message) {
	said, _ := vars.Get("_conversation")
	for _, v := range said.Items {
		if input, ok := v.Get("input"); ok {
			all = append(all, message{"user", scalarText(input)})
		}
		if output, ok := v.Get("output"); ok {
			all = append(all, message{"assistant", scalarText(output)})
		}
	}
	return all
}

// systemOnly returns the system messages; what a prompt of a test with a simulated user says else is its system prompt,
// too.
func (p *promptfoo) systemOnly(c *testCase, all []message) (system []message) {
	for _, m := range all {
		if m.role == "user" {
			m.role = "system"
		}
		if m.role == "system" {
			system = append(system, m)
		} else {
			p.unsupported(source.Value{Kind: source.Map, Line: c.line, Fields: []source.Field{
				{Name: "role", Value: source.Text(m.role)}, {Name: "content", Value: asValue(m.text)},
			}}, "a message of "+m.role, "a simulated user begins the conversation")
		}
	}
	return system
}

// user returns the simulated user of a test.
func (p *promptfoo) user(e *entry, vars source.Value) pairs {
	config := p.settings(e.get("config"), "config")
	goal := any(config.text("instructions"))
	if text, missing, err := render(plain(goal), vars, false); err != nil {
		p.lose(config.Line, "instructions", "%v, which is not filled in", err)
	} else {
		goal = text
		p.missing(&testCase{line: config.Line}, missing)
	}
	if v, ok := vars.Get("instructions"); ok && blank(goal) {
		goal = scalarText(v)
	}
	user := pairs{}
	if blank(goal) {
		goal = "Talk to the agent as a user of it would."
	}
	user = append(user, pair{"goal", goal})
	if n, ok := config.number("maxTurns"); ok {
		if n < 1 || n > 100 || n != math.Trunc(n) {
			p.lose(config.Line, "maxTurns", "it is no whole number from 1 to 100")
		} else {
			user = append(user, pair{"max_turns", int(n)})
		}
	}
	config.rest()
	e.keep("id", "label")
	e.rest()
	return user
}
