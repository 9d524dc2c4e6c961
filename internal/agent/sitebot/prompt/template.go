package prompt

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// part is a piece of a template: plain text, or the name of a variable.
type part struct {
	text     string
	variable bool
}

// template is a text with variables. It is immutable.
type template []part

// Slots are variables that contain the next level of a prompt; slotAliases are their other names.
const (
	agentSlot        = "agent_instructions"
	instructionsSlot = "instructions"
)

var slotAliases = map[string]string{
	"lf_agent_instructions":        agentSlot,
	"lf_client_agent_instructions": instructionsSlot,
}

// parse reads a template. File is the name that problems carry; every {{name}} must be among the known ones.
func parse(file, text string, known []string) (template, error) {
	r := templateReader{file: file, text: text, known: known}
	var t template
	for {
		open := strings.Index(r.text[r.at:], "{{")
		if open < 0 {
			break
		}
		t = append(t, part{text: r.text[r.at : r.at+open]})
		r.at += open
		if name, ok := r.variable(); ok {
			t = append(t, part{text: name, variable: true})
		}
	}
	t = append(t, part{text: r.text[r.at:]})
	return slices.DeleteFunc(t, func(p part) bool { return p.text == "" }), r.problems.Err()
}

type templateReader struct {
	file, text string
	at         int
	known      []string
	problems   source.Problems
}

// variable reads {{name}} and moves behind it.
func (r *templateReader) variable() (string, bool) {
	inner, _, closed := strings.Cut(r.text[r.at+2:], "}}")
	name := strings.Trim(inner, " \t")
	if !closed || !isName(name) {
		r.report("write a variable as {{name}}; known: "+strings.Join(r.known, ", "), "{{ does not begin a variable")
		r.at += 2
		return "", false
	}
	if slot, ok := slotAliases[name]; ok {
		name = slot
	}
	if !slices.Contains(r.known, name) {
		r.report(source.Suggest(name, r.known), "unknown variable {{%s}}", name)
	}
	r.at += len("{{") + len(inner) + len("}}")
	return name, true
}

// report files a problem at the current place.
func (r *templateReader) report(hint, format string, args ...any) {
	before := r.text[:r.at]
	line := strings.Count(before, "\n") + 1
	column := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
	r.problems = append(r.problems, source.Problem{
		File: r.file, Line: line, Column: column, Message: fmt.Sprintf(format, args...), Hint: hint,
	})
}

// isName reports whether a text can be the name of a variable. Anything else between braces, such as a condition, is a
// mistake.
func isName(s string) bool {
	ok := func(c rune) bool {
		return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
	}
	return s != "" && len(s) <= 64 && !strings.ContainsFunc(s, func(c rune) bool { return !ok(c) })
}

// has reports whether a template has a variable.
func (t template) has(name string) bool { return slices.Contains(t, part{text: name, variable: true}) }

// fill returns the template with another one in the place of a variable.
func (t template) fill(name string, inner template) template {
	var out template
	for _, p := range t {
		if p.variable && p.text == name {
			out = append(out, inner...)
			continue
		}
		out = append(out, p)
	}
	return out
}

// render writes the template with the values of its variables, as they are.
func (t template) render(value func(name string) string) string {
	pieces := make([]string, 0, 32) // room for most templates without asking for memory
	for _, p := range t {
		if p.variable {
			pieces = append(pieces, value(p.text))
			continue
		}
		pieces = append(pieces, p.text)
	}
	return strings.TrimSpace(strings.Join(pieces, ""))
}
