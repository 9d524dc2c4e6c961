package prompt

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
)

// Set renders the prompts of nodes. Prompts that its source does not have are the built-in ones, and so are all without
// a source. It is safe for concurrent use and must not be copied once used.
type Set struct {
	Source Source

	sites cache[*site.Site, *facts]
}

// Render returns the system message of a node. Its error is about the templates: a source.Problems, or why a source
// could not give them. The source is asked every time, and the templates are read again when it says something new.
func (s *Set) Render(ctx context.Context, of *site.Site, node string, v Vars) (string, error) {
	l, known := s.loader(ctx, of), s.about(of)
	t := l.prepare(&known.nodes, node, (*loader).node)
	values := values{vars: v, facts: known, requestedField: known.requested[v.Field]}
	if t.has("skills") {
		values.skills = l.skills(&values)
	}
	text := t.render(values.of)
	if node == FormFieldExtractor && !v.Today.IsZero() {
		text += "\n\n" + l.prepare(&known.nodes, daysName, (*loader).days).render(values.of)
	}
	return text, l.err()
}

// Schema is the function of that name, from memory: the result must not be changed.
func (s *Set) Schema(of *site.Site, node, field string) (json.RawMessage, bool) {
	known, key := s.about(of), schemaKey{node, field}
	if schema, ok := known.schemas.get(key); ok {
		return schema, true
	}
	schema, ok := Schema(of, node, field)
	if ok {
		known.schemas.put(key, schema)
	}
	return schema, ok
}

// about returns the facts of a site. Sites are immutable, so that they never change.
func (s *Set) about(of *site.Site) *facts {
	if known, ok := s.sites.get(of); ok {
		return known
	}
	known := factsOf(of)
	s.sites.put(of, known)
	return known
}

// skills returns what the skills ask of the answer. A question that there is none of cannot be asked.
func (l *loader) skills(v *values) string {
	var texts []string
	for _, skill := range v.vars.Skills {
		if !slices.Contains(Skills(), skill) || skill == "ask_qualification" && v.of("question") == none {
			continue
		}
		texts = append(texts, l.prepare(&v.facts.skills, skill, (*loader).skill).render(v.of))
	}
	if len(texts) == 0 {
		return l.prepare(&v.facts.skills, "none", (*loader).skill).render(v.of)
	}
	return strings.Join(texts, "\n\n")
}
