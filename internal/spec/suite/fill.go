package suite

import (
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Fill fills the test's variables into the text of a file that an assertion names. The variables of a judge's prompt
// stay as they are. Any other name is a problem of the file, and so is an environment variable: only suites have those.
func (a Assertion) Fill(file, text string) (filled string, problems source.Problems) {
	var b strings.Builder
	done := 0
	for _, m := range placeholder().FindAllStringSubmatchIndex(text, -1) {
		from, to := m[0], m[1]
		if m[4] < 0 || from > 0 && text[from-1] == '\\' { // \{{ is a plain {{
			b.WriteString(strings.TrimSuffix(text[done:from], `\`) + strings.TrimPrefix(text[from:to], `\`))
			done = to
			continue
		}
		b.WriteString(text[done:from])
		done = to
		name := text[m[4]:m[5]]
		value, ok := a.variable(name)
		switch {
		case text[from] == '$' || !ok && !slices.Contains(promptVariables, name):
			known := append(varPaths(a.Vars, ""), promptVariables...)
			line := strings.Count(text[:from], "\n") + 1
			problem := source.Problem{
				File: file, Line: line, Column: len([]rune(text[strings.LastIndexByte(text[:from], '\n')+1:from])) + 1,
				Message: "unknown variable " + text[from:to], Hint: source.Suggest(name, known),
			}
			if text[from] == '$' {
				problem.Hint = "name the environment variable in the test's vars, and that variable here"
			}
			problems = append(problems, problem)
		case slices.Contains(promptVariables, name):
			b.WriteString(text[from:to])
		case value.Kind == source.List || value.Kind == source.Map:
			b.WriteString(asJSON(value))
		default:
			b.WriteString(value.Scalar)
		}
	}
	return b.String() + text[done:], problems
}

// variable returns one of the test's variables by its path.
func (a Assertion) variable(name string) (value source.Value, ok bool) {
	value, ok = a.Vars, true
	for part := range strings.SplitSeq(strings.TrimPrefix(name, "vars."), ".") {
		if value, ok = step(value, part); !ok {
			break
		}
	}
	return value, ok
}
