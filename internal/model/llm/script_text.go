package llm

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// text is a template: $1, $12, ${1} and ${name} stand for the captures of the rule's pattern, $0 for what it matched,
// $$ for a dollar, ${tool.NAME} for the constant that the parameter NAME of an offered tool has. A number without a
// group, as in "$5 off", stays as it is written.
type text struct{ pieces []piece }

type piece struct {
	literal  string
	group    int // -1 for a literal or constant
	constant string
}

// captures is the pattern whose groups fill the templates of a rule, nil without one, and the condition that it belongs
// to.
type captures struct {
	pattern   *regexp.Regexp
	condition string
}

const constantPrefix = "tool."

// compileText returns the template and the first ${name} that the pattern doesn't have.
func compileText(s string, from captures) (t text, unknown string) {
	groups := 0
	if from.pattern != nil {
		groups = from.pattern.NumSubexp()
	}
	literal := func(s string) {
		if s != "" {
			t.pieces = append(t.pieces, piece{literal: s, group: -1})
		}
	}
	for {
		before, after, found := strings.Cut(s, "$")
		literal(before)
		if !found {
			return t, unknown
		}
		s = after
		digits := len(after) - len(strings.TrimLeft(after, "0123456789"))
		name, rest, closed := strings.Cut(strings.TrimPrefix(after, "{"), "}")
		switch {
		case strings.HasPrefix(after, "$"):
			literal("$")
			s = after[1:]
		case digits > 0:
			if n, err := strconv.Atoi(after[:digits]); err == nil && n <= groups {
				t.pieces = append(t.pieces, piece{group: n})
			} else {
				literal("$" + after[:digits])
			}
			s = after[digits:]
		case strings.HasPrefix(after, "{"+constantPrefix) && closed:
			t.pieces = append(t.pieces, piece{group: -1, constant: strings.TrimPrefix(name, constantPrefix)})
			s = rest
		case strings.HasPrefix(after, "{") && closed:
			n := groupIndex(name, from.pattern, groups)
			if n < 0 && unknown == "" {
				unknown = name
			}
			t.pieces = append(t.pieces, piece{group: n, literal: "${" + name + "}"})
			s = rest
		default:
			literal("$")
		}
	}
}

func groupIndex(name string, pattern *regexp.Regexp, groups int) int {
	if n, err := strconv.Atoi(name); err == nil {
		if n < 0 || n > groups {
			return -1
		}
		return n
	}
	if pattern == nil {
		return -1
	}
	return pattern.SubexpIndex(name)
}

func (t text) fill(v *scene) string {
	if len(t.pieces) == 1 && t.pieces[0].group < 0 && t.pieces[0].constant == "" {
		return t.pieces[0].literal
	}
	var b strings.Builder
	for _, p := range t.pieces {
		switch {
		case p.constant != "":
			value, ok := v.constant(p.constant)
			if !ok && v.missing == "" {
				v.missing = p.constant
			}
			b.WriteString(value)
		case p.group >= 0 && p.group < len(v.groups):
			b.WriteString(v.groups[p.group])
		default:
			b.WriteString(p.literal)
		}
	}
	return b.String()
}

// readText reads a template and reports a ${name} that does not exist.
func readText(n source.Node, from captures) text {
	t, unknown := compileText(n.Text(), from)
	if unknown != "" {
		known := []string{"0"}
		if from.pattern != nil {
			for i, name := range from.pattern.SubexpNames()[1:] {
				known = append(known, orElse(name, strconv.Itoa(i+1)))
			}
		}
		n.Report(
			source.Suggest(unknown, known)+"; write $${"+unknown+"} for the text itself",
			"the pattern when.%s has no group %q", from.condition, unknown,
		)
	}
	return t
}
