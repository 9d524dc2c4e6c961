package demo

import (
	"regexp"
	"slices"
	"strings"
)

// shown are the lines of a command's output that a demonstration shows.
type shown func(lines []string) []string

// Shown returns the lines of a step's output that are worth a look, in their order; the rest stays in a file.
func (s Step) Shown(output string) []string {
	return s.shows(strings.Split(strings.TrimRight(output, "\n"), "\n"))
}

// first shows the first line that each pattern matches.
func first(patterns ...string) shown {
	return func(lines []string) (kept []string) {
		var at []int
		for _, p := range patterns {
			if i := slices.IndexFunc(lines, regexp.MustCompile(p).MatchString); i >= 0 && !slices.Contains(at, i) {
				at = append(at, i)
			}
		}
		slices.Sort(at)
		for _, i := range at {
			kept = append(kept, lines[i])
		}
		return kept
	}
}

// opening shows the lines up to the first that is empty, and what another shows of the rest.
func opening(rest shown) shown {
	return func(lines []string) []string {
		end := slices.Index(lines, "")
		if end < 0 {
			return lines
		}
		return append(slices.Clone(lines[:end]), rest(lines[end:])...)
	}
}
