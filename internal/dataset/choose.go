package dataset

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"rehearse/internal/text"
)

// Matching returns the tests whose query or id holds a part, the one with that very id alone.
func Matching(tests []*Test, part string) []*Test {
	var found []*Test
	for _, t := range tests {
		if t.ID == part {
			return []*Test{t}
		}
		if strings.Contains(t.Query, part) || strings.Contains(t.ID, part) {
			found = append(found, t)
		}
	}
	return found
}

// WriteWarnings writes what the histories of tests do not tell for sure: with each every warning, with total how many there are of a kind.
func WriteWarnings(out io.Writer, tests []*Test, each, total bool) {
	counts, warned := map[string]int{}, 0
	for _, t := range tests {
		if len(t.Rebuilt.Warnings) > 0 {
			warned++
		}
		for _, warning := range t.Rebuilt.Warnings {
			code, _, _ := strings.Cut(warning, ":")
			counts[code]++
			if each {
				fmt.Fprintf(out, "warning  %s  %s\n", t.ID, warning)
			}
		}
	}
	if warned == 0 || !total {
		return
	}
	var parts []string
	for _, code := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", code, counts[code]))
	}
	hint := "; --verbose names the items"
	if each {
		hint = ""
	}
	fmt.Fprintf(out, "warnings      %s with a history that is not quite clear: %s%s\n", text.Plural(warned, "item"), strings.Join(parts, ", "), hint)
}
