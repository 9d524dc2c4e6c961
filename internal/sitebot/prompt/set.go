package prompt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"rehearse/internal/sitebot/site"
	"rehearse/internal/source"
)

// Set renders the prompts of nodes. Prompts that its source does not have are the built-in ones, and so are all without a source.
// It is safe for concurrent use.
type Set struct{ Source Source }

// Render returns the system message of a node. Its error is about the templates: a source.Problems, or why a source could not give them.
func (s Set) Render(ctx context.Context, of *site.Site, node string, v Vars) (string, error) {
	l := s.loader(ctx, of)
	t := l.node(node)
	values := v.values(of)
	if t.has("skills") {
		values["skills"] = l.skills(v, values)
	}
	if err := l.err(); err != nil {
		return "", err
	}
	return t.render(values), nil
}

// skills returns what the skills ask of the answer. A question that there is none of cannot be asked.
func (l *loader) skills(v Vars, values map[string]string) string {
	var texts []string
	for _, skill := range v.Skills {
		if !slices.Contains(Skills(), skill) || skill == "ask_qualification" && values["question"] == none {
			continue
		}
		texts = append(texts, l.load("", "skills/"+skill, variables).render(values))
	}
	if len(texts) == 0 {
		return l.load("", "skills/none", variables).render(values)
	}
	return strings.Join(texts, "\n\n")
}

// loader gets the templates of one site and collects what is wrong with them.
type loader struct {
	site     *site.Site
	fetch    func(name string) (text string, err error)
	problems source.Problems
	failure  error
	// absent are the names that the site gives and no source has.
	absent []string
}

func (s Set) loader(ctx context.Context, of *site.Site) *loader {
	from := Source(Builtin{})
	if s.Source != nil {
		from = Fallback(s.Source, Builtin{})
	}
	return &loader{site: of, fetch: func(name string) (string, error) {
		text, _, err := from.Prompt(ctx, name)
		return strings.TrimSpace(text), err
	}}
}

func (l *loader) err() error {
	if l.failure != nil {
		return l.failure
	}
	return l.problems.Err()
}

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

// level returns a template that must have a place for the next level.
func (l *loader) level(name, builtin, slot string) template {
	t := l.load(name, builtin, append(slices.Clone(variables), slot))
	if len(t) > 0 && !t.has(slot) {
		l.problems = append(l.problems, source.Problem{
			File: or(name, builtin), Message: "the template has no place for the next level", Hint: "write {{" + slot + "}} where it belongs",
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
			File: or(name, builtin), Message: "the prompt is empty", Hint: "write one, or remove it to use the built-in prompt",
		})
	}
	return t
}

// get returns a template by its name.
func (l *loader) get(name string, known []string) (template, error) {
	text, err := l.fetch(name)
	if err != nil {
		return nil, err
	}
	return parse(name, text, known)
}

// note keeps what went wrong.
func (l *loader) note(err error) {
	var problems source.Problems
	switch {
	case errors.As(err, &problems):
		l.problems = append(l.problems, problems...)
	case err != nil && l.failure == nil:
		l.failure = err
	}
}
