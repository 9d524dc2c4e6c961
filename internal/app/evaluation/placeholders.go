package evaluation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/template"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// placement checks that the targets of a suite's tests have a place for what the tests send: earlier messages, stubs,
// and variables that a target wants. Targets that take whole conversations have a place for everything.
type placement struct {
	e        *Evaluation
	s        *suite.Suite
	known    map[string]places
	problems source.Problems
	// lost are the sentences about system messages without a place, each once.
	lost []string
}

// places are the placeholders of a target; ok is false of one that takes whole conversations.
type places struct {
	names []string
	ok    bool
}

func (e *Evaluation) placement(s *suite.Suite) *placement {
	return &placement{e: e, s: s, known: map[string]places{}}
}

// add checks a test with its targets.
func (p *placement) add(t *suite.Test, targets []string) {
	for _, target := range targets {
		p.problems = append(p.problems, p.e.unstubbed(p.s, t, target)...)
		at, found := p.known[target]
		if !found {
			at.names, at.ok = p.e.setups[p.s.Name].Placeholders(target)
			p.known[target] = at
		}
		if !at.ok {
			continue
		}
		p.problems = append(p.problems, homeless(p.s, t, target, at.names)...)
		if system(t) && !holds(at.names, "system", "messages", "history", "messages_parts") {
			p.lost = with(p.lost, fmt.Sprintf(
				"the target %s has no place for system messages, so the agent is not sent them: put {{system}} "+
					"or {{messages}} into its body", target))
		}
	}
}

// unstubbed returns that a test has stubs which its target does not take: it would call what they stand for.
func (e *Evaluation) unstubbed(s *suite.Suite, t *suite.Test, target string) source.Problems {
	if !t.Stubbed() || e.setups[s.Name].AcceptsStubs(target) {
		return nil
	}
	return source.Problems{{
		File: s.File, Line: t.At.Line, Column: 1, Path: t.ID,
		Message: fmt.Sprintf("test %s has stubs, which the target %s does not take", t.ID, target),
		Hint:    "hold it with a flow, or remove the stubs",
	}}
}

// homeless returns what a test has that a target with these placeholders cannot be told, and what they want that the
// test does not have.
func homeless(s *suite.Suite, t *suite.Test, target string, names []string) (problems source.Problems) {
	earlier := t.Start.History != nil || slices.ContainsFunc(t.Input, func(m chat.Message) bool {
		return m.Role != chat.System
	})
	if earlier && !holds(names, "messages", "history", "messages_parts") {
		problems = append(problems, source.Problem{
			File: s.File, Path: t.ID, Message: fmt.Sprintf(
				"test %s begins with earlier messages, which the target %s has no place for", t.ID, target),
			Hint: "put {{messages}} or {{history}} into what the target sends, or remove the messages",
		})
	}
	for _, name := range names {
		path, wanted := strings.CutPrefix(name, "vars.")
		if _, there := template.Var(t.Vars, path); wanted && !there {
			problems = append(problems, source.Problem{
				File: s.File, Path: t.ID,
				Message: fmt.Sprintf("test %s has no variable %s, which the target %s sends as {{ %s }}", t.ID, path,
					target, name), Hint: "add it to the vars of the test or of the suite",
			})
		}
	}
	return problems
}

func system(t *suite.Test) bool {
	return slices.ContainsFunc(t.Input, func(m chat.Message) bool { return m.Role == chat.System })
}

func holds(names []string, wanted ...string) bool {
	return slices.ContainsFunc(wanted, func(name string) bool { return slices.Contains(names, name) })
}
