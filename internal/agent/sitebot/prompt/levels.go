package prompt

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// node returns the whole template of a node.
func (l *loader) node(node string) template {
	if !slices.Contains(Nodes(), node) {
		l.failure = fmt.Errorf("prompts: no node %q asks a model; the nodes are %s", node, strings.Join(Nodes(), ", "))
		return nil
	}
	a, ok := agents[node]
	if !ok {
		return l.load(l.name(l.site.Prompts.Nodes[node], node), "nodes/"+node, variables)
	}
	meta := l.level(l.name(l.site.Prompts.Meta, a.id), metaName, agentSlot)
	own := l.level(l.name(a.own(&l.site.Prompts), a.id), a.name, instructionsSlot)
	return meta.fill(agentSlot, own.fill(instructionsSlot, l.instructions(a)))
}

// days returns the template of what form_field_extractor does before a booking step.
func (l *loader) days(name string) template {
	return l.load("", name, append(slices.Clone(variables), "calendar", "order", "today"))
}

// skill returns the template of a skill.
func (l *loader) skill(name string) template { return l.load("", "skills/"+name, variables) }

// level returns a template that must have a place for the next level.
func (l *loader) level(name, builtin, slot string) template {
	t := l.load(name, builtin, append(slices.Clone(variables), slot))
	if len(t) > 0 && !t.has(slot) {
		l.problems = append(l.problems, source.Problem{
			File: or(name, builtin), Message: "the template has no place for the next level",
			Hint: "write {{" + slot + "}} where it belongs",
		})
	}
	return t
}

// instructions returns the site's own words to an agent. A site need not have any.
func (l *loader) instructions(a agent) template {
	name := l.name(or(l.site.Prompts.Instructions, instructionsName), a.id)
	t, err := l.get(name, variables)
	if errors.Is(err, ErrUnknown) {
		l.absent = append(l.absent, name)
	} else {
		l.note(err)
	}
	if len(t) == 0 {
		return template{{text: "Nothing in particular."}}
	}
	return t
}

// name returns a name of the site's with its variables filled in.
func (l *loader) name(name, agent string) string {
	return strings.NewReplacer("{agent}", agent, "{site}", l.site.Name).Replace(name)
}

// load returns the template that the site names, or else the built-in one.
func (l *loader) load(name, builtin string, known []string) template {
	t, err := l.get(or(name, builtin), known)
	if name != "" && errors.Is(err, ErrUnknown) {
		l.absent = append(l.absent, name)
		name = ""
		t, err = l.get(builtin, known)
	}
	l.note(err)
	if err == nil && len(t) == 0 {
		l.problems = append(l.problems, source.Problem{
			File: or(name, builtin), Message: "the prompt is empty",
			Hint: "write one, or remove it to use the built-in prompt",
		})
	}
	return t
}
