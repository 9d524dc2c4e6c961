package dataset

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
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

// Unclear counts the items whose histories do not tell all for sure, and what that is. The zero value counts none.
type Unclear struct {
	// Items have a warning; Codes counts the warnings of each code.
	Items int
	Codes map[string]int
}

// Add counts the warnings of an item.
func (u *Unclear) Add(warnings []string) {
	if len(warnings) == 0 {
		return
	}
	if u.Codes == nil {
		u.Codes = map[string]int{}
	}
	u.Items++
	for _, warning := range warnings {
		code, _, _ := strings.Cut(warning, ":")
		u.Codes[text.OneLine(code, maxCode)]++
	}
}

// String says it in words; empty when every history is clear.
func (u *Unclear) String() string {
	if u.Items == 0 {
		return ""
	}
	var parts []string
	for _, code := range slices.Sorted(maps.Keys(u.Codes)) {
		parts = append(parts, fmt.Sprintf("%s %d", code, u.Codes[code]))
	}
	return fmt.Sprintf("%s with a history that is not quite clear: %s", text.Plural(u.Items, "item"),
		strings.Join(parts, ", "))
}

// warningsKey is the key of a test's metadata with the warnings of its history.
const warningsKey = "warnings"

// WarningsOf returns what the metadata of a test, or of its record, says that the history does not tell for sure.
func WarningsOf(metadata map[string]any) (warnings []string) {
	switch all := metadata[warningsKey].(type) {
	case []string:
		return all
	case []any: // as JSON has it
		for _, one := range all {
			if warning, ok := one.(string); ok {
				warnings = append(warnings, warning)
			}
		}
	}
	return warnings
}

// The longest code, and the longest id and warning, that a line shows, in characters.
const (
	maxCode  = 50
	maxShown = 500
)

// WriteWarnings writes what the histories of tests do not tell for sure: with each every warning, with total how many
// there are of a kind.
func WriteWarnings(out io.Writer, tests []*Test, each, total bool) {
	var unclear Unclear
	for _, t := range tests {
		unclear.Add(t.Rebuilt.Warnings)
		for _, warning := range t.Rebuilt.Warnings {
			if each {
				fmt.Fprintf(out, "warning  %s  %s\n", text.OneLine(t.ID, maxShown), text.OneLine(warning, maxShown))
			}
		}
	}
	if unclear.Items == 0 || !total {
		return
	}
	hint := "; --verbose names the items"
	if each {
		hint = ""
	}
	fmt.Fprintf(out, "warnings      %s%s\n", unclear.String(), hint)
}
