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

// unplaced returns a problem for each test with something that its target has no place for: earlier messages, and
// variables that the target wants and the test does not have. Lost are the sentences about system messages without a
// place, each once. Targets that take whole conversations have a place for everything.
func (e *Evaluation) unplaced(s *suite.Suite,
	targets func(*suite.Test) ([]string, error)) (problems source.Problems, lost []string, err error) {
	type placed struct {
		names []string
		ok    bool
	}
	known := map[string]placed{}
	for t, err := range s.Tests() {
		if err != nil {
			return nil, nil, source.AsInvalid(err)
		}
		held, err := targets(t)
		if err != nil {
			continue // a run that chooses the test says so
		}
		for _, target := range held {
			problems = append(problems, e.unstubbed(s, t, target)...)
			places, found := known[target]
			if !found {
				places.names, places.ok = e.setups[s.Name].Placeholders(target)
				known[target] = places
			}
			if !places.ok {
				continue
			}
			problems = append(problems, homeless(s, t, target, places.names)...)
			if system(t) && !holds(places.names, "system", "messages", "history", "messages_parts") {
				lost = with(lost, fmt.Sprintf(
					"the target %s has no place for system messages, so the agent is not sent them: put {{system}} "+
						"or {{messages}} into its body", target))
			}
		}
	}
	return problems, lost, nil
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
