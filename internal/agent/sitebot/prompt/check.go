package prompt

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Check reads every prompt of a site, so that mistakes are found before a visitor meets them. The error is as that of
// Render. Warnings are about names that no source has and about instructions that ask questions in another order than
// the site.
func (s *Set) Check(ctx context.Context, of *site.Site) (warnings source.Problems, err error) {
	l := s.loader(ctx, of)
	for _, node := range Nodes() {
		l.node(node)
	}
	l.days(daysName)
	for _, skill := range Skills() {
		l.skill(skill)
	}
	l.problems = distinct(l.problems)
	if err := l.err(); err != nil {
		return nil, err
	}
	return append(l.missing(), l.order()...), nil
}

// distinct leaves out what was found before: agents share the outermost template.
func distinct(problems source.Problems) source.Problems {
	var kept source.Problems
	for _, p := range problems {
		if !slices.Contains(kept, p) {
			kept = append(kept, p)
		}
	}
	return kept
}

// missing warns of prompts that the site names and that do not exist. Of instructions one agent's are enough.
func (l *loader) missing() source.Problems {
	var warnings source.Problems
	instructions := 0
	for _, name := range slices.Compact(slices.Sorted(slices.Values(l.absent))) {
		if l.isInstructions(name) {
			instructions++
			continue
		}
		warnings = append(warnings, source.Problem{
			File: l.site.File, Path: "prompts",
			Message: fmt.Sprintf("there is no prompt %q; the built-in one is used", name),
			Hint:    "add the prompt to its source, or correct the name",
		})
	}
	if own := l.site.Prompts.Instructions; own != "" && instructions > 0 && !l.anyInstructions() {
		warnings = append(warnings, source.Problem{
			File: l.site.File, Path: "prompts.instructions",
			Message: fmt.Sprintf("no agent has instructions: there is no prompt %q", own),
			Hint:    "add one to the source of prompts, such as " + l.name(own, "answer") + ", or remove the key",
		})
	}
	return warnings
}

func (l *loader) isInstructions(name string) bool {
	for _, a := range agents {
		if name == l.name(or(l.site.Prompts.Instructions, instructionsName), a.id) {
			return true
		}
	}
	return false
}

func (l *loader) anyInstructions() bool {
	for _, a := range agents {
		if _, err := l.get(l.name(l.site.Prompts.Instructions, a.id), variables); err == nil {
			return true
		}
	}
	return false
}

// order warns of instructions that name questions in another order than the site's file. Histories are rebuilt in the
// order of the file.
func (l *loader) order() source.Problems {
	name := l.name(or(l.site.Prompts.Instructions, instructionsName), agents[AnswerWriter].id)
	t, err := l.get(name, variables)
	if err != nil {
		t = nil // there are none: faults were found before
	}
	text, last, before := strings.ToLower(t.render(func(string) string { return "" })), -1, ""
	for _, f := range l.site.Fields() {
		at := strings.Index(text, strings.ToLower(f.Question))
		if at < 0 {
			continue
		}
		if at < last {
			return source.Problems{{
				File: name, Message: fmt.Sprintf("the question of %q stands before that of %q, unlike in %s",
					f.ID, before, l.site.File),
				Hint: "ask in the order of the site's file: answers are matched to questions by their order",
			}}
		}
		last, before = at, f.ID
	}
	return nil
}
