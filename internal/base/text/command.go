package text

import "strings"

var (
	// inlineCommand is what Azure Pipelines, GitHub's first form and TeamCity read anywhere in a line.
	inlineCommand = Regexp(`(?i)##(vso\[|\[|teamcity\[)`)
	// lineCommand is what GitHub reads at the beginning of a line, blanks aside. Colours are no text either.
	lineCommand = Regexp(`(?m)^((?:[\t\v\f\r\p{Z}]|\x1b\[[0-9;]*m)*)::(\pL)`)
)

// NoCommand returns s with a space of no width (U+200B) wherever a CI system that reads the output would take it for a
// command: in ##vso[, ##[ and ##teamcity[, and in :: before a letter at the beginning of a line. What people see stays
// the same. It comes after Visible, which would show that space.
func NoCommand(s string) string {
	if strings.Contains(s, "##") {
		s = inlineCommand().ReplaceAllString(s, "##\u200b$1")
	}
	if strings.Contains(s, "::") {
		s = lineCommand().ReplaceAllString(s, "$1::\u200b$2")
	}
	return s
}
