package grader

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/eval/runner"
)

func newRegex(a *Args) runner.Grader {
	pattern := a.Text("value", "the pattern, in RE2 syntax, that some part of the reply must match")
	flags := a.TextOr("flags", "", "any of i (case is ignored), m (^ and $ match at lines) and s (. matches a newline)")
	if strings.Trim(flags, "ims") != "" {
		a.Report("flags", "use letters of i, m and s only", "unknown flags %q", flags)
		flags = ""
	}
	if inner, ok := delimited(pattern); ok {
		a.Report("value", fmt.Sprintf(
			"write value: '%s' (letters behind the last / go into flags; a literal / at both ends: [/])", inner),
			"a pattern has no delimiters: the / would have to stand in the reply")
	}
	re := a.pattern("value", pattern, flags)
	return pieceCheck("matches "+quote(pattern)+flagNote(flags), caseCounts, func(text string) (bool, string) {
		text = caseCounts.of(text)
		match := re.FindStringIndex(text)
		if match == nil {
			return false, "no match in " + quote(text)
		}
		return true, "matched " + quote(text[match[0]:match[1]])
	}, func(text string) (found [][2]int) {
		for _, match := range re.FindAllStringIndex(text, maxSpans) {
			found = append(found, [2]int{match[0], match[1]})
		}
		return found
	})
}

// delimited finds a pattern that is written as in other languages, between slashes with letters behind them.
func delimited(pattern string) (inner string, ok bool) {
	m := regexp.MustCompile(`^/(.+)/[gimsuy]+$`).FindStringSubmatch(pattern)
	if m == nil {
		return "", false
	}
	return m[1], true
}

// pattern compiles the pattern of a parameter. It reports a bad one and returns the empty pattern.
func (a *Args) pattern(name, pattern, flags string) *regexp.Regexp {
	if flags != "" {
		pattern = "(?" + flags + ")" + pattern
	}
	re, err := regexp.Compile(caseCounts.of(pattern))
	if err != nil {
		a.Report(name, patternHint(pattern), "not a valid pattern: %s",
			strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		return regexp.MustCompile("")
	}
	return re
}

// perlOnly matches constructs that RE2 leaves out because they could take exponential time.
func perlOnly() *regexp.Regexp { return regexp.MustCompile(`\(\?<?[=!]|\(\?>|\\[1-9]|\\k[<{']|\(\?P=`) }

func patternHint(pattern string) string {
	if perlOnly().MatchString(pattern) {
		return "patterns are RE2, which has no look-ahead, look-behind or back-references; " +
			"use a second assertion such as not_regex"
	}
	return "patterns are RE2 (https://github.com/google/re2/wiki/Syntax); write a literal . " +
		"( [ { * + ? | ^ $ or \\ behind a backslash"
}

func flagNote(flags string) string {
	if flags == "" {
		return ""
	}
	return " with flags " + flags
}
